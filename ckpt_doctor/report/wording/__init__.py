"""What several formats say in the same words and the same order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import (
    Confidence,
    Evidence,
    Finding,
    NotEvaluated,
    Report,
    Severity,
    Side,
    Status,
)
from ckpt_doctor.facts.shape import Shape

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison, Interval, StartCost
    from ckpt_doctor.facts.run import RunRecord
    from ckpt_doctor.facts.treatment import Confirmation


def by_cost(report: Report) -> tuple[Finding, ...]:
    """The findings in the order of telling.

    The verdict's cause comes first; then the more severe, the lasting before the one-time, and
    the most costly.
    """

    def place(finding: Finding) -> tuple[bool, int, bool, float, str]:
        cost_s = finding.delta_s or 0.0
        once = finding.shape is Shape.ONE_TIME
        return (finding.code != report.verdict.cause, -finding.severity.rank, once, -cost_s, finding.code)

    return tuple(sorted(report.findings, key=place))


def headline(report: Report) -> str:
    """The outcome in a few words, as ``SLOWER 1.53× (1.49–1.57)``."""
    status, cause = report.verdict.status, first_cause(report)
    word = status.value.upper()
    if report.comparison is not None:
        ratio = interval(report.comparison.ratio)
        if cause is not None and cause.shape is Shape.ONE_TIME and cause.delta_s is not None:
            return f"SLOW TO RESUME {units.signed_seconds(cause.delta_s)} once, then {ratio}"
        if cause is not None and status is Status.SAME:
            return f"WRONG, NOT SLOWER {ratio}"
        if cause is not None and status is Status.INCONCLUSIVE:
            return f"WRONG, SPEED INCONCLUSIVE {ratio}"
        return f"{word} {ratio}"
    if report.verdict.status is Status.FINDINGS:
        return f"{word}: {tally(report)}"
    return word


def outcome(report: Report) -> tuple[str, ...]:
    """What follows the headline: side, cause and confidence, as ``data side``, each where it is known."""
    verdict, cause = report.verdict, first_cause(report)
    words: list[str] = []
    if verdict.side is Side.NOT_ESTABLISHED:
        words.append("cause not established")
    elif verdict.side is not Side.NONE:
        words.append(f"{verdict.side.value} side")
    if cause is not None:
        words.append(f"{cause.name} ({cause.code})")
    if verdict.confidence is not None:
        words.append(verdict.confidence.value)
    return tuple(words)


def context_label(name: str) -> str:
    """What a place is that a report names: a run's recording, that of a treated run, or a baseline's part."""
    from ckpt_doctor.facts.treatment import TRIAL_PREFIX

    if name.startswith(TRIAL_PREFIX):
        return f"Without {name.removeprefix(TRIAL_PREFIX)}"
    return name.capitalize().replace("_", " ")


def what_to_do(report: Report) -> tuple[tuple[str, str], ...]:
    """The first cause's remedy and the next measurement with their labels; once where they are the same."""
    cause, next_step = first_cause(report), report.verdict.next_step
    told = [("Fix", cause.remedy)] if cause is not None and cause.remedy != next_step else []
    return (*told, *((("Next", next_step),) if next_step is not None else ()))


def first_cause(report: Report) -> Finding | None:
    """The finding that the verdict names; None where it names none."""
    return next((f for f in report.findings if f.code == report.verdict.cause), None)


def tally(report: Report) -> str:
    """How many findings of each severity, as ``1 error, 2 warnings``."""
    counts = ((severity, sum(f.severity is severity for f in report.findings)) for severity in Severity)
    words = [
        f"{count} {severity.value}{'s' if count > 1 and severity is not Severity.INFO else ''}"
        for severity, count in reversed(tuple(counts))
        if count
    ]
    return ", ".join(words)


def interval(value: Interval) -> str:
    """A ratio with its 95 % interval, as ``1.53× (1.49–1.57)``."""
    return f"{units.ratio(value.value)} ({value.low:.2f}–{value.high:.2f})"


def traits(finding: Finding, report: Report) -> tuple[str, ...]:
    """What is said of a finding beside its name: severity, shape, cost, confidence and place."""
    words = [finding.severity.value]
    if finding.shape is not None:
        words.append(finding.shape.value)
    told = (cost(finding), place(finding, report))
    if told[0] is not None:
        words.append(told[0])
    if finding.confidence is not Confidence.SUPPORTED:
        words.append(finding.confidence.value)
    if told[1] is not None:
        words.append(told[1])
    return tuple(words)


def cost(finding: Finding) -> str | None:
    """What a finding costs, as ``+17.1 ms/step, 96 % of the slowdown``; None where that is not known."""
    words: list[str] = []
    if finding.delta_s is not None:
        unit = " once" if finding.shape is Shape.ONE_TIME else "/step"
        words.append(units.signed_seconds(finding.delta_s) + unit)
    if finding.share_ratio is not None:
        words.append(f"{units.percent(finding.share_ratio)} of the slowdown")
    return ", ".join(words) or None


def test_result(confirmation: Confirmation) -> str:
    """What came of taking a cause away, and what that cannot tell."""
    limits = f" {confirmation.cannot}" if confirmation.cannot is not None else ""
    return f"{confirmation.sentence}.{limits}"


def evidence_value(evidence: Evidence) -> str:
    """The value of a piece of evidence with its unit."""
    value = evidence.value
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"{value} {evidence.unit}" if evidence.unit else value
    return units.quantity(float(value), evidence.unit)


def place(finding: Finding, report: Report) -> str | None:
    """The line of the user's source as ``train.py:42``, relative to where the script ran if it lies there."""
    if finding.location is None:
        return None
    return f"{relative_file(finding.location.file, report)}:{finding.location.line}"


def relative_file(file: str, report: Report) -> str:
    """A source file, relative to where the script ran if it lies there."""
    from pathlib import PurePath

    path = PurePath(file)
    cwd = report.comparison.after.run.meta.cwd if report.comparison is not None else None
    return str(path.relative_to(cwd) if cwd is not None and path.is_relative_to(cwd) else path)


def part_name(part: str) -> str:
    """A part of the step time in words, as ``data wait``."""
    return {"gc": "GC pauses"}.get(part, part.replace("_", " "))


def start_parts(start: StartCost) -> Mapping[str, float | None]:
    """The parts of a run's start in words, in seconds; None where one is not known."""
    return {
        "imports": start.imports_s,
        "loading": start.load_s,
        "workers": start.workers_s,
        "fast-forward": start.fast_forward_s,
        "compiling": start.compile_s,
    }


EVERYTHING_ELSE = "everything else"
START_PARTS = ("imports", "loading", "workers", "fast-forward", "compiling", EVERYTHING_ELSE)
"""All parts of a run's start, in the order of telling."""


def start_rows(comparison: Comparison) -> Mapping[str, tuple[float | None, float | None]]:
    """Seconds of each part of both runs' starts, and what the parts leave over; without what neither took."""
    sides = [
        {**start_parts(start), EVERYTHING_ELSE: _left_over(start)}
        for start in (comparison.before_start, comparison.after_start)
    ]
    rows = {name: (sides[0][name], sides[1][name]) for name in START_PARTS}
    return {name: row for name, row in rows.items() if any(row)}


def _left_over(start: StartCost) -> float | None:
    if start.first_step_s is None:
        return None
    return max(0.0, start.first_step_s - sum(part_s or 0.0 for part_s in start_parts(start).values()))


def what_ran(run: RunRecord) -> str:
    """What a run was, as ``train.py --lr 0.1``; where it was read from, if no command is known."""
    from pathlib import PurePath

    words = run.meta.command
    script = next((number for number, word in enumerate(words) if word.endswith(".py")), None)
    if script is None:
        return " ".join(words) or run.meta.path
    return " ".join((PurePath(words[script]).name, *words[script + 1 :]))


def file_name(path: str) -> str:
    """The last part of a path or an address."""
    return path.rstrip("/").rpartition("/")[2] or path


def not_measured(comparison: Comparison) -> Mapping[str, tuple[str, ...]]:
    """Why signals are missing, each reason with their names in words."""
    names: dict[str, tuple[str, ...]] = {}
    for name, why in comparison.not_measured.items():
        told = f"{name.removesuffix('_s')} time" if name.endswith("_s") else name
        names[why] = (*names.get(why, ()), told.replace("_", " "))
    return names


def reasons(items: Iterable[NotEvaluated]) -> Mapping[str, tuple[str, ...]]:
    """Why rules could not be judged, each reason with their codes."""
    codes: dict[str, tuple[str, ...]] = {}
    for item in items:
        codes[item.why] = (*codes.get(item.why, ()), item.code)
    return codes


def _counted(comparison: Comparison) -> str:
    """How many steps were compared, and in what, as ``300 and 280 steps of a TensorBoard folder``."""
    before, after = comparison.before, comparison.after
    words = f"{before.training_steps} and {after.training_steps} steps"
    if before.training_steps > before.steps or after.training_steps > after.steps:
        words += f" in {before.steps} and {after.steps} entries"
    kind = after.run.meta.kind
    return words if kind == RECORDING else f"{words} of a {kind}"


def _over_pairs(comparison: Comparison) -> tuple[str, ...]:
    """What each pair of processes read, as ``over 3 pairs of processes: 1.01, 1.06, 1.02``; none of one."""
    if not comparison.pairs:
        return ()
    read = ", ".join(f"{pair.ratio.value:.2f}" for pair in comparison.pairs)
    return (f"over {len(comparison.pairs)} pairs of processes: {read}",)


def measured(comparison: Comparison) -> tuple[str, ...]:
    """How two runs were measured, what would have shown, and what the measurement cost."""
    turns = sum(turn.phase == "interleaved" for turn in comparison.after.run.turns)
    # Without a counter that moved, less than identical code may differ by is not called a slowdown.
    shows_ratio = max(comparison.detectable_ratio, comparison.effect_floor_ratio)
    how = f"in {turns} turns each" if comparison.paired and turns else "one run after the other"
    words = [
        f"{_counted(comparison)}, {how}",
        *_over_pairs(comparison),
        f"a slowdown above {units.percent(shows_ratio - 1)} would show",
    ]
    if comparison.agent_per_step_s is not None:
        words.append(f"the agent timed {units.per_step(comparison.agent_per_step_s)} of its own")
    if comparison.sampler_ratio is not None:
        words.append(f"steps with stack sampling took {units.ratio(comparison.sampler_ratio)} as long")
    return tuple(words)
