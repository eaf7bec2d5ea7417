"""The report for a job summary or a comment: GitHub's Markdown.

Format: https://github.github.com/gfm/. Keys, paths and messages come from files that nobody vouches
for: none of them can open an element, a link or a table cell, nor call a person (``@name``) or an
issue (``#1``). A comment holds 65 536 characters; what would go beyond is left out, and said to be.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.facts.checklist import ItemStatus
from ckpt_doctor.facts.shape import Shape
from ckpt_doctor.facts.states import PresenceStatus
from ckpt_doctor.report import wording
from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.wording.checklist import codes_told, status_words

if TYPE_CHECKING:
    from ckpt_doctor.facts.checklist import ChecklistItem
    from ckpt_doctor.facts.checkpoint import CheckpointFacts
    from ckpt_doctor.facts.checkpoint_comparison import CheckpointComparison
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding, NotEvaluated, Report

SUFFIXES = (".md", ".markdown")

_MOST_CHARACTERS = 65_000
"""Of the whole text: a comment on GitHub holds 65 536, a job summary 1 MiB."""
_MOST_OF_A_TEXT = 1_000
"""Characters of one text from outside, before it is escaped."""
_MOST_ROWS = 30
"""Rows of a table whose length depends on what was looked at."""
_LEFT_OUT = "*The rest does not fit into a comment; the other formats have it.*\n"

_SPECIAL = re.compile(r"[\\`*_{}\[\]#|~$]|^[-+=]|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""What means something to Markdown within a line or at its start, and what makes a link of an address."""
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
"""What makes a list item of a line."""
_CALLS = re.compile(r"(?<=[@#])(?=\w)|(?<=\bGH-)(?=\d)", re.IGNORECASE)
"""Places within what GitHub takes for the name of a person or the number of an issue."""


def render(report: Report) -> str:
    """The report as Markdown, short enough for a comment."""
    return _fitting(_blocks(report))


def _fitting(blocks: Iterable[str]) -> str:
    """As many whole blocks as there is room for."""
    text = ""
    for block in blocks:
        longer = f"{text}\n{block}" if text else block
        if len(longer) + len(_LEFT_OUT) + 1 > _MOST_CHARACTERS:
            return f"{text}\n{_LEFT_OUT}"
        text = longer
    return text


def _blocks(report: Report) -> Iterator[str]:
    yield from _verdict(report)
    if report.comparison is not None:
        yield from _budget(report.comparison)
    for number, finding in enumerate(wording.by_cost(report)):
        if number == 0:
            yield "### Findings\n"
        yield from _finding(finding, report)
    if report.comparison is not None:
        yield from _start(report.comparison)
    if report.checkpoint_comparison is not None:
        yield from _changes(report.checkpoint_comparison)
    for checkpoint in report.checkpoints:
        yield from _checkpoint(checkpoint)
    yield from _limits(report)
    if report.checklist:
        yield "### Checklist\n"
        yield "".join(_item(item) for item in report.checklist)


def _verdict(report: Report) -> Iterator[str]:
    yield f"## {_text(' · '.join((wording.headline(report), *wording.outcome(report))))}\n"
    yield f"{_text(report.verdict.sentence)}\n"
    for label, told in wording.what_to_do(report):
        yield f"**{label}:** {_text(told)}\n"


def _budget(comparison: Comparison) -> Iterator[str]:
    shape = "" if comparison.shape is Shape.NONE else f" ({comparison.shape.value})"
    yield f"### Where the time of a step goes{shape}\n"
    rows: list[tuple[str, ...]] = [
        (
            _text(wording.part_name(part.part)),
            units.seconds(part.before_s),
            units.seconds(part.after_s),
            units.signed_seconds(part.delta.value),
            units.seconds_range(part.delta.low, part.delta.high),
        )
        for part in comparison.budget
        if part.before_s or part.after_s
    ]
    before, after = comparison.before, comparison.after
    total = (
        units.seconds(before.step_s),
        units.seconds(after.step_s),
        units.signed_seconds(comparison.delta_s),
    )
    rows.append(("**step**", *(f"**{cell}**" for cell in total), wording.interval(comparison.ratio)))
    if before.samples_per_s is not None and after.samples_per_s is not None:
        speeds = (f"{units.number(side)}/s" for side in (before.samples_per_s, after.samples_per_s))
        rows.append(("samples", *speeds, "", ""))
    yield _table(("part", "before", "after", "change", "95 % interval"), rows, right=4)


def _finding(finding: Finding, report: Report) -> Iterator[str]:
    yield f"#### {finding.code} {_text(finding.name)}\n"
    yield f"{_text(' · '.join(wording.traits(finding, report)))}\n"
    if finding.checkpoint is not None:
        yield f"In {_code(finding.checkpoint)}:\n"
    if finding.summary not in report.verdict.sentence:
        yield f"{_text(finding.summary)}\n"
    rows = [
        (_text(evidence.what), _text(wording.evidence_value(evidence)), _text(evidence.source))
        for evidence in finding.evidence
    ]
    yield from _long_table(("evidence", "value", "source"), rows)
    if finding.confirmation is not None:
        yield f"**Test:** {_text(wording.test_result(finding.confirmation))}\n"
    if finding.code != report.verdict.cause:
        yield f"**Fix:** {_text(finding.remedy)}\n"


def _start(comparison: Comparison) -> Iterator[str]:
    starts = (comparison.before_start, comparison.after_start)
    if starts[1].first_step_s is None:
        return
    before, after = (wording.start_parts(start) for start in starts)
    columns: list[tuple[str, float | None, float | None]] = [
        ("first step done after", starts[0].first_step_s, starts[1].first_step_s)
    ]
    columns += [(f"of it {name}", before[name], after[name]) for name in after]
    rows = [
        (name, *("" if value is None else units.seconds(value) for value in values))
        for name, *values in columns
        if any(values)
    ]
    yield "### Cost of the resume, once\n"
    yield _table(("", "before", "after"), rows, right=2)


def _changes(comparison: CheckpointComparison) -> Iterator[str]:
    yield "### What changed inside\n"
    for label, kinds in (("lost", comparison.lost), ("gained", comparison.gained)):
        if kinds:
            yield f"{label}: {', '.join(_code(kind.value) for kind in kinds)}\n"
    changes = [(each.what, each.before or "-", each.after or "-") for each in comparison.changes]
    sizes = [
        (f"{each.key}: bytes", _size(each.before_bytes), _size(each.after_bytes)) for each in comparison.sizes
    ]
    yield from _long_table(
        ("", "before", "after"), [tuple(_text(cell) for cell in row) for row in (*changes, *sizes)]
    )


def _checkpoint(checkpoint: CheckpointFacts) -> Iterator[str]:
    yield f"### Checkpoint {_code(checkpoint.path)}\n"
    yield (
        f"{_text(checkpoint.format)}, {_text(checkpoint.layout)}, {units.size(checkpoint.size_bytes)}, "
        f"of which {units.size(checkpoint.read_bytes)} were read\n"
    )
    rows = [
        (
            status.value,
            ", ".join(kind.value for kind, state in checkpoint.states.items() if state.status is status),
        )
        for status in PresenceStatus
    ]
    yield _table(("", "states"), [(status, _text(kinds)) for status, kinds in rows if kinds])
    for note in checkpoint.notes:
        yield f"Note: {_text(note)}\n"


def _limits(report: Report) -> Iterator[str]:
    for warning in report.warnings:
        yield f"Note: {_text(warning)}\n"
    if report.not_evaluated:
        yield _not_evaluated(report.not_evaluated)
    if report.comparison is not None:
        yield f"Measured: {_text('; '.join(wording.measured(report.comparison)))}\n"
    for name, value in report.context.items():
        yield f"{_text(wording.context_label(name))}: {_code(value)}\n"


def _not_evaluated(items: Sequence[NotEvaluated]) -> str:
    told = "".join(f"- {', '.join(codes)}: {_text(why)}\n" for why, codes in wording.reasons(items).items())
    return f"<details><summary>Not evaluated ({len(items)})</summary>\n\n{told}\n</details>\n"


def _item(item: ChecklistItem) -> str:
    """A line of a task list, which is ticked only where the item was checked."""
    box = "[x]" if item.status is ItemStatus.CHECKED else "[ ]"
    told = f"{_text(item.title)}: **{status_words(item.status)}**, {_text(item.sentence)}"
    return f"- {box} {told} ({codes_told(item)})\n"


def _long_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if rows:
        yield _table(headings, rows[:_MOST_ROWS])
    if len(rows) > _MOST_ROWS:
        yield f"and {len(rows) - _MOST_ROWS} more\n"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> str:
    """A table; so many of its columns, the last ones, lean to the right."""
    rules = ["---"] * (len(headings) - right) + ["--:"] * right
    return "".join(f"| {' | '.join(row)} |\n" for row in (headings, rules, *rows))


def _size(value_bytes: int | None) -> str:
    return "-" if value_bytes is None else units.size(value_bytes)


def _text(words: str) -> str:
    """Words from anywhere, as nothing but words."""
    escaped = _NUMBERED.sub(r"\1\\\2", _SPECIAL.sub(r"\\\g<0>", html.escape(_short(words), quote=False)))
    return _CALLS.sub("<!-- -->", escaped)


def _code(words: str) -> str:
    """A name or path from anywhere, as code: within an element nothing of it means anything to Markdown."""
    return f"<code>{_text(words)}</code>"


def _short(words: str) -> str:
    text = harmless(words).strip()
    return text if len(text) <= _MOST_OF_A_TEXT else f"{text[:_MOST_OF_A_TEXT]} …"
