"""The steps wait longer for data, and nothing that was counted says why.

What it means
-------------
The slowdown is real and lies on the data side, but its cause is not established: no more bytes from
the disk, no worker starts, no changed argument. The user's lines that grew point to it.

How it is measured
------------------
What the other rules leave of the growth of data wait: at least ``blame.UNEXPLAINED_SHARE`` of the
slowdown, and a slowdown above the effect floor by itself. Where no loader feeds the steps, a rest of the
step that grew while the process used no more CPU time counts as waiting for data.

How to fix it
-------------
Look at the lines that grew. Time inside worker processes shows when the script runs with
``num_workers=0`` for a moment.

When it is wrong
----------------
On a busy machine workers wait for a CPU; the effect floor rises with what others use. A file system in
user space hides its reads, so a cold cache can look like this. On a device that works on its own (CUDA)
the host's wait may cost nothing: there only a trace, which shows when the device had nothing to do
meanwhile, is judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, leftover
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Finding, Found, Severity, Side

NEEDS = ("parts",)
"""Traces and some logs tell the data wait, too."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | CannotTell | None:
    """Judge what is left of the data side."""
    comparison = case.comparison
    if comparison is None or blame.cost_grows(comparison):
        return None
    if blame.asynchronous(comparison) and leftover.exposed_s(comparison) is None:
        return CannotTell("the device works while the host waits: how much of the wait it feels is not known")
    left_s = leftover.data_s(comparison, findings)
    if left_s < blame.UNEXPLAINED_SHARE * comparison.delta_s or left_s <= 0:
        return None
    lines = leftover.lines(comparison, left_s)
    return Found(
        severity=Severity.ERROR,
        side=Side.DATA,
        summary=f"Each step waits {units.seconds(left_s)} longer for data; the cause is not established.",
        remedy=leftover.advice(lines, "the data set's __getitem__ and collate function"),
        evidence=blame.part_evidence(comparison, blame.data_parts(comparison))
        + blame.counter_evidence(comparison.counter(leftover.EXPOSED), "agent")
        + blame.line_evidence(lines),
        confidence=Confidence.SUSPECTED,
        share_ratio=blame.share_ratio(comparison, left_s),
        delta_s=left_s,
        shape=blame.lasting_shape(comparison),
        location=blame.location_of(lines),
    )
