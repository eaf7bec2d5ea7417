"""Which findings are tested by taking their cause away, and what comes of that for them.

A cause of which at least half comes back, beyond doubt, is confirmed. One of which less than half comes
back, beyond doubt, is not: another one is looked for. Everything between leaves a finding as it was.

A suspect that was named is denied without a trial where there is nothing to put back and no rule has found
it, or where no time was lost that could come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ckpt_doctor import units
from ckpt_doctor.checks import blame
from ckpt_doctor.checks.verdict import UNEXPLAINED, doubt_of
from ckpt_doctor.facts.comparison import Comparison, Shape
from ckpt_doctor.facts.report import Confidence, Finding, Report, Severity, Side
from ckpt_doctor.facts.treatment import Confirmation, NotTested, NotThere, Recovery, Trial

MOST_TRIALS = 3
"""So many causes are taken away unless they are named: each takes as long as a probe."""
CONFIRMED_SHARE = 0.5
"""Part of a cause's cost from which on it has come back, and below which it has not."""
NOTHING_SHARE = 0.005
"""Less than this part is told as nothing."""
TOO_MANY = NotTested(
    f"only the {MOST_TRIALS} most costly causes are taken away, unless --suspect names others"
)
NOTHING_LOST = "each step takes as long as before the resume: there is nothing that could come back"

SIDES = {"DAT": Side.DATA, "CMP": Side.COMPUTE, "HST": Side.HOST, "WRK": Side.WORK}
"""Sides of the families of rules, for a cause that no rule has found."""


def chosen(findings: Sequence[Finding], names: Mapping[str, str], suspects: Sequence[str]) -> list[Finding]:
    """The findings whose cause is to be taken away: one a rule, the lasting ones first, then the most costly.

    Args:
        findings: What the rules found.
        names: Names of the rules by their codes.
        suspects: Codes that were named; what no rule has found is tested all the same. Empty for all that
            costs time.
    """
    if suspects:
        found = _one_a_rule(findings)
        return [found.get(code) or _suspected(code, names[code]) for code in dict.fromkeys(suspects)]
    costly = [f for f in findings if f.severity is not Severity.INFO and f.code not in UNEXPLAINED]
    costly = [f for f in costly if f.delta_s is not None and f.delta_s > 0 and not f.code.startswith("STA")]
    return list(_one_a_rule(costly).values())


def needless(suspect: Finding, planned: Trial | NotTested, report: Report) -> Confirmation | None:
    """A suspect that is known not to be the cause before it is taken away; None where that is to be tried.

    Args:
        suspect: What is to be tested, as ``chosen`` gives it.
        planned: How that would be done.
        report: What was found before.
    """
    unknown = {rule.code for rule in report.not_evaluated}
    if isinstance(planned, NotThere) and suspect not in report.findings and suspect.code not in unknown:
        return _denied(planned.why)
    if isinstance(planned, Trial) and planned.is_lasting and suspect.delta_s is None and _is_as_fast(report):
        return _denied(NOTHING_LOST)
    return None


def judged(trial: Trial, recovery: Recovery) -> Confirmation:
    """Whether what came back confirms a cause."""
    share = recovery.share
    amount = _amount(trial, recovery)
    if share.value >= CONFIRMED_SHARE and share.low > 0:
        confirmed, why, sentence = True, None, f"confirmed by removal: {amount}"
    elif share.high < CONFIRMED_SHARE:
        confirmed, why, sentence = False, None, f"not confirmed: {amount}"
    else:
        reach = f"95 % {units.percent(share.low)} to {units.percent(share.high)}"
        confirmed, why, sentence = None, reach, f"not settled by removal: {amount}, {reach}"
    return Confirmation(
        confirmed=confirmed,
        is_lasting=trial.is_lasting,
        treatment=trial.put_back.what,
        cannot=trial.cannot,
        recovery=recovery,
        why=why,
        sentence=f"{sentence}; put back: {trial.put_back.what}",
    )


def untested(not_tested: NotTested, trial: Trial | None = None) -> Confirmation:
    """What is said of a cause that could not be taken away."""
    return Confirmation(
        confirmed=None,
        treatment=None if trial is None else trial.put_back.what,
        cannot=None if trial is None else trial.cannot,
        why=not_tested.why,
        sentence=f"not tested by removal: {not_tested.why}",
    )


def with_confirmations(
    findings: Sequence[Finding],
    tested: Mapping[str, Finding],
    confirmations: Mapping[str, Confirmation],
    comparison: Comparison,
) -> tuple[Finding, ...]:
    """All findings, those that were tested with what came of it: their confidence rises or falls with it.

    Args:
        findings: What the rules found.
        tested: The finding of each rule that was tested, by its code; one that no rule has found comes last.
        confirmations: What came of each test, by the same codes.
        comparison: The two runs.
    """
    known = {finding.code for finding in findings}
    every = (*findings, *(finding for code, finding in tested.items() if code not in known))
    told = tuple(
        _confirmed(finding, confirmations[finding.code], comparison)
        if _is_same(finding, tested.get(finding.code))
        else finding
        for finding in every
    )
    explained_s = sum(
        new.delta_s or 0.0
        for old, new in zip(every, told, strict=True)
        if old.delta_s is None and new.share_ratio is not None
    )
    return tuple(finding for finding in told if not _is_explained(finding, explained_s, comparison))


def _is_explained(finding: Finding, explained_s: float, comparison: Comparison) -> bool:
    """Whether time whose cause was not established came back with causes that no rule had blamed for it."""
    if finding.code not in UNEXPLAINED or finding.delta_s is None or explained_s <= 0:
        return False
    return finding.delta_s - explained_s < blame.UNEXPLAINED_SHARE * comparison.delta_s


def _denied(why: str) -> Confirmation:
    return Confirmation(confirmed=False, why=why, sentence=f"not confirmed: {why}")


def _is_as_fast(report: Report) -> bool:
    """Whether the steps of both runs are equally fast, as far as these runs can tell."""
    comparison, findings = report.comparison, report.findings
    if comparison is None or comparison.ratio.value >= comparison.effect_floor_ratio:
        return False
    lasting = any(f.severity is Severity.ERROR and f.share_ratio is not None for f in findings)
    return not lasting and doubt_of(comparison, findings) is None


def _is_same(finding: Finding, tested: Finding | None) -> bool:
    """Whether a finding was tested; some rules have one about the start and one about every step."""
    return tested is not None and (tested.share_ratio is None) == (finding.share_ratio is None)


def _confirmed(finding: Finding, confirmation: Confirmation, comparison: Comparison) -> Finding:
    if confirmation.confirmed is False and finding.severity is Severity.ERROR and finding.delta_s is None:
        # It blames nothing on time: what it says is wrong stays wrong, whatever comes back.
        return replace(finding, confirmation=replace(confirmation, confirmed=None))
    if confirmation.confirmed is False:
        return replace(finding, confirmation=confirmation, confidence=Confidence.SUSPECTED)
    if not confirmation.confirmed:
        return replace(finding, confirmation=confirmation)
    confirmed = replace(finding, confirmation=confirmation, confidence=Confidence.CONFIRMED)
    recovery = confirmation.recovery
    if finding.delta_s is not None or recovery is None:
        return confirmed
    # No rule has blamed it for anything: it is known by what came back.
    return replace(
        confirmed,
        severity=Severity.ERROR,
        delta_s=recovery.recovered_s,
        share_ratio=blame.share_ratio(comparison, recovery.recovered_s) if confirmation.is_lasting else None,
        shape=blame.lasting_shape(comparison) if confirmation.is_lasting else Shape.ONE_TIME,
    )


def _one_a_rule(findings: Sequence[Finding]) -> dict[str, Finding]:
    """The first finding of each rule, by code: lasting ones come before others, costly before cheap ones."""
    first: dict[str, Finding] = {}
    for finding in sorted(findings, key=lambda f: (f.share_ratio is None, -(f.delta_s or 0.0))):
        first.setdefault(finding.code, finding)
    return first


def _suspected(code: str, name: str) -> Finding:
    """A finding of a cause that was named and that no rule has found."""
    return Finding(
        code=code,
        name=name,
        severity=Severity.INFO,
        side=SIDES[code[:3]],
        summary=f"{name.replace('-', ' ').capitalize()} was suspected; no rule has found it.",
        remedy=f"See ckpt-doctor explain {code}.",
        confidence=Confidence.SUSPECTED,
    )


def _amount(trial: Trial, recovery: Recovery) -> str:
    of = units.per_step(recovery.of_s) if trial.is_lasting else f"{units.seconds(recovery.of_s)} once"
    if recovery.share.value < NOTHING_SHARE:
        return f"nothing of {of} came back"
    share = units.percent(recovery.share.value)
    back = "all" if recovery.recovered_s > recovery.of_s else units.seconds(recovery.recovered_s)
    return f"{back} of {of} came back ({share})"
