"""The resumed run was on another machine, or with other software, than the one it is compared with.

What it means
-------------
Another processor, another GPU or driver, another version of torch, lower clocks, data on a network file
system instead of a local disk: the difference of the steps may be theirs and not the resume's.

How it is measured
------------------
The fingerprints of both runs: processor, memory, kernel, clock limits and governor, GPU and driver, versions
of Python, torch and CUDA, and the file systems that the data lie on (other ones altogether). Where the
resumed run is slower beyond the effect floor of runs that did not take turns, what no other rule explains
is told here; the cause is then not proved by it. Else it is only mentioned, as is another host of the same
kind.

How to fix it
-------------
Compare runs on like machines; probe on the machine in question, where both arms meet the same one.

When it is wrong
----------------
A difference that matters to nobody (a kernel's patch level) is a difference too. Clocks that fall under
load, or a neighbour in the same rack, stand in no fingerprint.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, hosts, likeness
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import Case, Confidence, Evidence, Finding, Found, Severity, Side

CHANGES_TOLD = 3
"""So many differences stand in the summary; all of them are evidence."""


NEEDS = ("machine",)
"""Traces of GPUs name them, too."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge the machines of both runs."""
    comparison = case.comparison
    if comparison is None:
        return None
    changes = hosts.machine_changes(comparison)
    names = tuple(window.run.meta.host for window in (comparison.before, comparison.after))
    if not changes and names[0] == names[1]:
        return None
    left_s = comparison.delta_s - blame.explained_s(comparison, findings)
    slower = bool(changes) and _is_slower(comparison, left_s)
    told = likeness.told(changes[:CHANGES_TOLD]) or f"{names[0]} and {names[1]}, of the same kind"
    effect = f"; each step takes {units.seconds(left_s)} longer" if slower else ""
    return Found(
        severity=Severity.ERROR if slower else Severity.INFO,
        side=Side.HOST,
        summary=f"The runs were on different machines ({told}){effect}.",
        remedy="Compare like with like: probe on one machine, where both runs meet the same hardware, "
        "software and file system.",
        evidence=(
            *_host_evidence(names),
            *blame.change_evidence(changes),
        ),
        confidence=Confidence.SUSPECTED,
        share_ratio=blame.share_ratio(comparison, left_s) if slower else None,
        delta_s=left_s if slower else None,
        shape=blame.lasting_shape(comparison) if slower else None,
    )


def _host_evidence(names: Sequence[str]) -> tuple[Evidence, ...]:
    """The hosts' names, where they are known: a trace does not tell."""
    sides = zip(("before", "after"), names, strict=True)
    return tuple(Evidence(f"host, {side}", name, None, "recording") for side, name in sides if name)


def _is_slower(comparison: Comparison, left_s: float) -> bool:
    return (
        blame.is_slower(comparison, proven=False)
        and blame.share_ratio(comparison, left_s) >= blame.UNEXPLAINED_SHARE
    )
