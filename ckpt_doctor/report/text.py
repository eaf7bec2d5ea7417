"""The report for a person at a terminal: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.report import (
    Finding,
    NotEvaluated,
    Report,
    Severity,
    Status,
    Verdict,
)
from ckpt_doctor.facts.shape import Shape
from ckpt_doctor.facts.states import PresenceStatus
from ckpt_doctor.report import wording
from ckpt_doctor.report.terminal.screen import Cell, Column, Screen

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison, PartDelta

SUFFIXES = (".txt",)

_FULL_FINDINGS = 3
"""So many findings of a comparison are told in full, the others by name."""
_FULL_EVIDENCE = 6
_REASONS = 3
"""So many reasons of rules that could not be judged are told."""
_BAR_COLUMNS = 12
"""Of the longest bar on a terminal of 80 columns; wider ones give it what they have more."""
_USUAL_WIDTH = 80
_BAR_FROM_WIDTH = 76
"""Narrower terminals get no bars: the numbers need the room."""
_SURE, _UNSURE = "█", "░"
"""A bar's filling: whether the interval leaves out zero."""

_STATUS_STYLE = {
    Status.SLOWER: "bold red",
    Status.FINDINGS: "bold red",
    Status.SAME: "bold green",
    Status.HEALTHY: "bold green",
    Status.FASTER: "bold green",
    Status.INCONCLUSIVE: "bold yellow",
}
_SEVERITY_STYLE = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(report: Report, *, width: int = 80, colour: bool = False) -> str:
    """The report as text.

    Args:
        report: What to tell.
        width: Columns of the terminal.
        colour: Whether to use colour; without, the text holds no escape sequence.
    """
    screen = Screen(width=width, colour=colour)
    findings = wording.by_cost(report)
    _verdict(screen, report)
    if report.comparison is not None:
        from ckpt_doctor.report.terminal.step_times import write_step_times

        _budget(screen, report.comparison)
        write_step_times(screen, report.comparison)
        _ranks(screen, report.comparison)
    if report.checkpoint_comparison is not None:
        from ckpt_doctor.report.terminal.checkpoint_changes import write_changes

        write_changes(screen, report.checkpoint_comparison)
    _findings(screen, findings, report)
    if report.comparison is not None:
        _resume_cost(screen, report.comparison)
    for checkpoint in report.checkpoints:
        _checkpoint(screen, checkpoint, brief=report.comparison is not None)
    _limits(screen, report)
    if report.checklist:
        from ckpt_doctor.report.terminal.checklist import write_checklist

        write_checklist(screen, report.checklist)
    return screen.text()


def _verdict(screen: Screen, report: Report) -> None:
    verdict = report.verdict
    cause = wording.first_cause(report)
    tail = "".join(f" · {word}" for word in wording.outcome(report))
    style = _STATUS_STYLE[Status.SLOWER if cause is not None else verdict.status]
    screen.line((wording.headline(report), style), (tail, "bold"))
    screen.blank()
    screen.line(verdict.sentence)
    for label, told in wording.what_to_do(report):
        screen.labelled(f"{label}:", told)


def _budget(screen: Screen, comparison: Comparison) -> None:
    parts = [part for part in comparison.budget if part.before_s or part.after_s]
    largest = max((abs(part.delta.value) for part in parts), default=0.0)
    bar = _BAR_COLUMNS + max(0, screen.width - _USUAL_WIDTH)
    rows = [_budget_row(part, largest, bar) for part in parts]
    before, after = comparison.before, comparison.after
    rows.append(
        [
            ("step", "bold"),
            (units.seconds(before.step_s), "bold"),
            (units.seconds(after.step_s), "bold"),
            (units.signed_seconds(comparison.delta_s), "bold"),
            wording.interval(comparison.ratio),
            "",
        ]
    )
    if before.samples_per_s is not None and after.samples_per_s is not None:
        speed = [f"{units.number(side)}/s" for side in (before.samples_per_s, after.samples_per_s)]
        rows.append(["samples", *speed, "", "", ""])
    screen.blank()
    shape = "" if comparison.shape is Shape.NONE else f"  ({comparison.shape.value})"
    screen.line(("Where the time of a step goes", "bold"), shape)
    columns = [
        Column("part"),
        Column("before", right=True),
        Column("after", right=True),
        Column("change", right=True),
        Column("95 % interval", right=True),
        Column(""),
    ]
    if screen.width < _BAR_FROM_WIDTH:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    screen.table(columns, rows, indent=2)


def _budget_row(part: PartDelta, largest: float, columns: int) -> list[Cell]:
    delta = part.delta
    sure = delta.low > 0 or delta.high < 0
    length = round(columns * abs(delta.value) / largest) if largest else 0
    return [
        wording.part_name(part.part),
        units.seconds(part.before_s),
        units.seconds(part.after_s),
        units.signed_seconds(delta.value),
        units.seconds_range(delta.low, delta.high),
        ((_SURE if sure else _UNSURE) * length, "red" if delta.value > 0 else "green"),
    ]


def _ranks(screen: Screen, comparison: Comparison) -> None:
    """Which rank the others wait for; the ranks of a data-parallel run all take the same time."""
    slow = next((rank for rank in comparison.ranks if rank.rank == comparison.slow_rank), None)
    others = [rank.after_busy_s for rank in comparison.ranks if rank is not slow]
    known = [busy_s for busy_s in others if busy_s is not None]
    if slow is None or slow.after_busy_s is None or not known:
        return
    screen.blank()
    screen.labelled(
        "Ranks:",
        f"rank {slow.rank} makes the others wait: it is busy {units.seconds(slow.after_busy_s)} of each "
        f"step, they {units.seconds(max(known))} at most. The budget above is its own.",
    )


def _findings(screen: Screen, findings: tuple[Finding, ...], report: Report) -> None:
    verdict = report.verdict
    full = _told_in_full(findings, report)
    for finding in full:
        screen.blank()
        _finding_heading(screen, finding, report)
        if finding.summary not in verdict.sentence:
            screen.line(finding.summary, indent=2)
        _evidence(screen, finding)
        _test(screen, finding, verdict)
        if finding.code != verdict.cause:
            screen.labelled("Fix:", finding.remedy, indent=2)
    names = [f"{finding.code} {finding.name}" for finding in findings if finding not in full]
    if names:
        screen.blank()
        screen.labelled("Also:", f"{', '.join(names)} (ckpt-doctor explain CODE)")


def _told_in_full(findings: tuple[Finding, ...], report: Report) -> tuple[Finding, ...]:
    """All of an inspection; of a comparison the cause, other errors and what was tested, else a few."""
    if report.comparison is None:
        return findings
    cause = report.verdict.cause
    serious = tuple(
        f for f in findings if f.code == cause or f.severity is Severity.ERROR or f.confirmation is not None
    )
    return (serious or findings)[:_FULL_FINDINGS]


def _evidence(screen: Screen, finding: Finding) -> None:
    rows: list[list[Cell]] = [
        [evidence.what, wording.evidence_value(evidence), (evidence.source, "dim")]
        for evidence in finding.evidence[:_FULL_EVIDENCE]
    ]
    if rows:
        columns = [Column(""), Column("", right=True), Column("")]
        screen.table(columns, rows, indent=4, headings=False)


def _test(screen: Screen, finding: Finding, verdict: Verdict) -> None:
    """What came of taking the cause away, as far as the verdict has not told it."""
    confirmation = finding.confirmation
    if confirmation is not None and confirmation.sentence not in verdict.sentence:
        screen.labelled("Test:", wording.test_result(confirmation), indent=2)


def _finding_heading(screen: Screen, finding: Finding, report: Report) -> None:
    title = f"{finding.code} {finding.name}"
    screen.line(
        (title, f"bold {_SEVERITY_STYLE[finding.severity]}"),
        "  " + " · ".join(wording.traits(finding, report)),
    )


def _resume_cost(screen: Screen, comparison: Comparison) -> None:
    before, after = comparison.before_start, comparison.after_start
    if after.first_step_s is None:
        return
    text = f"first step done {units.seconds(after.first_step_s)} after the start"
    if before.first_step_s is not None:
        text += f" (before: {units.seconds(before.first_step_s)})"
    parts = ", ".join(
        f"{name} {units.seconds(value)}" for name, value in wording.start_parts(after).items() if value
    )
    screen.blank()
    screen.line(("Cost of the resume, once: ", "bold"), f"{text}{'; ' if parts else ''}{parts}")


def _checkpoint(screen: Screen, checkpoint: CheckpointFacts, *, brief: bool) -> None:
    screen.blank()
    screen.line(
        ("Checkpoint: ", "bold"),
        f"{checkpoint.path} ({checkpoint.format}, {checkpoint.layout}, ",
        f"{units.size(checkpoint.size_bytes)}, of which {units.size(checkpoint.read_bytes)} ",
        f"{'transferred' if '://' in checkpoint.path else 'read'})",
    )
    if brief:
        return
    for status in PresenceStatus:
        kinds = [kind.value for kind, state in checkpoint.states.items() if state.status is status]
        if kinds:
            screen.labelled(f"{status.value}:", ", ".join(kinds), style="", indent=2)
    for note in checkpoint.notes:
        screen.labelled("note:", note, style="", indent=2)


def _limits(screen: Screen, report: Report) -> None:
    screen.blank()
    for warning in report.warnings:
        screen.labelled("Note:", warning, style="yellow")
    if report.not_evaluated:
        screen.labelled("Not evaluated:", _reasons(report.not_evaluated), style="dim")
    if report.comparison is not None:
        screen.labelled("Measured:", "; ".join(wording.measured(report.comparison)), style="dim")
    for name, value in report.context.items():
        screen.labelled(f"{wording.context_label(name)}:", value, style="dim")


def _reasons(items: Iterable[NotEvaluated]) -> str:
    codes = wording.reasons(items)
    told = [f"{', '.join(group)} ({why})" for why, group in codes.items()]
    left = sum(len(group) for group in list(codes.values())[_REASONS:])
    more = f"; and {left} more (--format json lists them)" if left else ""
    return "; ".join(told[:_REASONS]) + more
