"""The step times before and after the resume were compared, and where they differ the side is named.

A run that is slower for a reason that is known has passed this item: its cause is told by the verdict.
"""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor import units
from ckpt_doctor.checks.answers import failed, unknown
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.report import Report, Side, Status

TITLE = "step times compared"
RULES = ("MSR901", "MSR902", "MSR905")

DOUBTS = (*RULES, "MSR906", "HST402")
"""Rules that say why a measurement is too weak."""


def judge(case: ChecklistCase) -> Judged:
    """Judge whether there is an answer about the speed."""
    verdict, ratio = case.report.verdict, units.ratio(case.comparison.ratio.value)
    cause = () if verdict.cause is None else (verdict.cause,)
    if verdict.status is Status.INCONCLUSIVE:
        return _inconclusive(case)
    if verdict.status is Status.SLOWER and verdict.side is Side.NOT_ESTABLISHED:
        sentence = f"{ratio} slower, the side is not established"
        return Judged(status=ItemStatus.FAILED, sentence=sentence, codes=cause)
    missing = unknown(case, RULES)
    if missing is not None:
        return missing
    return Judged(status=ItemStatus.CHECKED, sentence=_told(case.report, ratio), codes=cause)


def _inconclusive(case: ChecklistCase) -> Judged:
    doubt = failed(case, DOUBTS)
    if doubt is not None:
        return replace(doubt, status=ItemStatus.NOT_EVALUATED)
    return Judged(status=ItemStatus.NOT_EVALUATED, sentence="the measurement is too weak to say")


def _told(report: Report, ratio: str) -> str:
    verdict = report.verdict
    if verdict.status is not Status.SLOWER:
        return f"{ratio}, {'faster' if verdict.status is Status.FASTER else 'not slower'}"
    lasting = any(f.code == verdict.cause and f.share_ratio is not None for f in report.findings)
    speed = f"{ratio} slower" if lasting else f"slow to resume, then {ratio}"
    return f"{speed}, {verdict.side.value} side"
