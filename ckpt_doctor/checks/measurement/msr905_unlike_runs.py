"""The two recordings are not of the same experiment.

What it means
-------------
Another script, another number of ranks, a model or batch of another size, other arguments than those that
resume: the steps do other work, and which of them takes longer says nothing about a resume. A batch of half
the size can hide a slowdown of half the speed.

How it is measured
------------------
The commands, less what a probe appended, and less options whose names tell of resuming, of places or of
what costs no time (``stats.arguments``). The fingerprints' ranks and trained elements
(``likeness.SIZE_RATIO``). Samples per batch, backward passes per step and elements of the model's input
(``likeness.WORK_RATIO``), where the resumed run is not slower: more work in longer steps is a finding
(WRK501), and so is a larger model under the same command (CMP308). A warning, and no verdict; where only
the commands differ and a counter explains a slowdown, a mention.

How to fix it
-------------
Compare a run with its own resume, started by the same command.

When it is wrong
----------------
Arguments that change nothing in a step (a name, a comment) look like others that do. What stands in a
config file or in the environment is seen by its effects only. Steps that vary in size by themselves can
differ in a short window.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor.checks import blame, likeness
from ckpt_doctor.facts.report import Case, Confidence, Finding, Found, Severity, Side

NEEDS = ("settings",)
"""Traces tell the number of ranks, too."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | None:
    """Judge whether the runs can be compared."""
    comparison = case.comparison
    if comparison is None:
        return None
    unlike = likeness.differences(comparison)
    changes = (*unlike, *(c for c in comparison.arguments if c not in unlike))
    if not changes:
        return None
    explained = any(f.severity is Severity.ERROR and blame.explains(f) for f in findings)
    doubted = bool(unlike) or not explained
    return Found(
        severity=Severity.WARNING if doubted else Severity.INFO,
        side=Side.NONE,
        summary=f"The runs are not the same experiment: {likeness.told(changes)}."
        if unlike
        else f"The runs were started with different arguments: {likeness.told(changes)}.",
        remedy="Compare a run with its own resume: the same command, but for what resumes it.",
        evidence=blame.change_evidence(changes),
        confidence=Confidence.CONFIRMED if unlike else Confidence.SUPPORTED,
    )
