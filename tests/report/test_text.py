"""The text report: the verdict first, on one screen, and nothing that a file says controls the terminal."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from ckpt_doctor.facts.comparison import RankDelta
from ckpt_doctor.facts.report import Confidence, Evidence, Location, NotEvaluated, Side, Status, Verdict
from ckpt_doctor.report.text import render
from tests.report.sample import (
    checklist,
    checkpoint,
    cold_cache,
    comparison,
    inspect_report,
    order_lost,
    probe_report,
)


def flat(text: str) -> str:
    """The text with every break and run of spaces as one space."""
    return re.sub(r"\s+", " ", text)


def test_the_verdict_is_first_and_all_parts_follow() -> None:
    """Outcome, side and cause stand on the first line; budget, evidence, fix and limits follow in order."""
    text = render(probe_report())
    first = text.splitlines()[0]
    assert first.startswith("SLOWER 1.53× (1.49–1.57)")
    assert "data side" in first
    assert "DAT203" in first
    places = [
        text.index(words)
        for words in (
            "51.2 ms per step instead",
            "Fix:",
            "data wait",
            "physical bytes read per step, after",
            "Cost of the resume, once",
            "Checkpoint: runs/x/last.pt",
            "Note:",
            "Not evaluated:",
            "Measured:",
            "Checklist",
        )
    ]
    assert places == sorted(places)
    assert "12.4 MB/step" in text
    assert "train.py:42" in text


def test_one_screen() -> None:
    """A verdict with two findings fits 40 lines of 80 columns; below it each item of the list takes one."""
    lines = render(probe_report(checklist=()), width=80).splitlines()
    assert len(lines) <= 40
    with_list = render(probe_report(), width=80).splitlines()
    assert with_list[: len(lines)] == lines
    assert len(with_list) == len(lines) + 2 + len(checklist())


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long paths and sentences wrap, at any width."""
    long = "runs/" + "very-long-name-" * 20
    report = probe_report(
        checkpoints=(checkpoint(path=long),), context={"recordings": long}, warnings=(long, "word " * 60)
    )
    text = render(report, width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_no_escape_sequence_without_colour_and_some_with() -> None:
    """In a pipe the text is plain; in a terminal it is coloured, and says the same."""
    plain, coloured = render(probe_report()), render(probe_report(), colour=True)
    assert "\x1b" not in plain
    assert "\x1b[" in coloured
    assert flat(re.sub(r"\x1b\[[0-9;]*m", "", coloured)) == flat(plain)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=40).map(lambda text: f"[bold red]{text}[/] \x1b[31m\x9b31m\u202e\r"))
def test_untrusted_text_controls_nothing(words: str) -> None:
    """Neither markup nor control characters of keys, paths and messages reach the terminal."""
    finding = cold_cache(
        summary=words,
        remedy=words,
        evidence=(Evidence(words, words, words, words),),
        location=Location(words, 1),
    )
    text = render(
        probe_report(
            findings=(finding,),
            checkpoints=(checkpoint(path=words, notes=(words,)),),
            warnings=(words,),
            context={"recordings": words},
            not_evaluated=(NotEvaluated("CMP304", words),),
            checklist=tuple(replace(item, sentence=words) for item in checklist()),
        )
    )
    assert "[bold red]" in " ".join(text.split())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", text)


def test_findings_are_told_by_cost() -> None:
    """The verdict's cause is first, then the more severe and the more costly, whatever order they came in."""
    findings = (
        order_lost(code="STA111", name="cheap"),
        cold_cache(code="CMP305", name="second", delta_s=0.002),
        cold_cache(code="CMP306", name="costly", delta_s=0.004),
        cold_cache(),
    )
    text = render(probe_report(findings=findings, checklist=()))
    places = [text.rindex(code) for code in ("DAT203", "CMP306", "CMP305", "STA111")]
    assert places == sorted(places)


def test_the_fix_of_the_cause_is_told_once() -> None:
    """What is said at the top is not repeated below."""
    assert render(probe_report()).count("Restore the sampler's order") == 1


def test_many_findings_stay_short() -> None:
    """Beside a measured cause, warnings are named only; an inspection tells every finding in full."""
    codes = range(101, 109)
    findings = tuple(order_lost(code=f"STA{n}", name=f"lost-{n}", remedy=f"remedy {n}") for n in codes)
    measured = flat(render(probe_report(findings=(cold_cache(), *findings))))
    inspected = flat(render(inspect_report(findings=findings)))
    for n in codes:
        assert f"STA{n} lost-{n}" in measured
        assert f"Fix: remedy {n}" not in measured
        assert f"Fix: remedy {n}" in inspected


def test_warnings_alone_are_told() -> None:
    """Where a comparison found nothing worse than warnings, the first three are told in full."""
    findings = tuple(order_lost(code=f"MSR90{n}", remedy=f"remedy {n}") for n in range(1, 6))
    verdict = Verdict(Status.INCONCLUSIVE, Side.NOT_ESTABLISHED, None, None, "Too noisy.")
    text = render(probe_report(verdict=verdict, findings=findings))
    assert [n for n in range(1, 6) if f"Fix: remedy {n}" in text] == [1, 2, 3]
    assert "Also: MSR904" in text


def test_bars_show_what_is_established() -> None:
    """A bar is solid where the interval leaves out zero, else faint; narrow terminals get none."""
    wide = render(probe_report(), width=80)
    table = wide.partition("Where the time")[2].partition("\n\n")[0]
    rows = {line.split()[0]: line for line in table.splitlines()[2:]}
    assert "█" in rows["data"]
    assert "█" not in rows["forward"]
    assert "█" not in render(probe_report(), width=60)


def test_reasons_that_repeat_are_told_once() -> None:
    """Rules that could not be judged are grouped by reason, and only three reasons are told."""
    items = [NotEvaluated(f"CMP30{n}", "no CUDA device") for n in range(4)]
    items += [NotEvaluated(f"HST40{n}", f"reason {n}") for n in range(4)]
    text = flat(render(probe_report(not_evaluated=tuple(items), checklist=())))
    assert text.count("no CUDA device") == 1
    assert "reason 1" in text
    assert "reason 2" not in text
    assert "and 2 more" in text


def test_an_inspection_lists_the_states() -> None:
    """Without a measurement the states are listed by whether they are there, and no budget is shown."""
    text = render(inspect_report())
    assert text.startswith("FINDINGS: 1 warning\n")
    assert "present: model, optimizer" in text
    assert "absent: sampler_rng" in text
    assert "Where the time" not in text


def test_what_is_not_known_is_not_said() -> None:
    """An open verdict names no cause but the next thing to measure; missing start times leave no line."""
    verdict = Verdict(
        Status.INCONCLUSIVE,
        Side.NOT_ESTABLISHED,
        None,
        Confidence.SUSPECTED,
        "Too noisy.",
        "Use --threads 1.",
    )
    base = comparison()
    silent = comparison(
        after_start=type(base.after_start)(None, None, None, None, None, None, None),
        agent_per_step_s=None,
        sampler_ratio=None,
    )
    text = render(probe_report(verdict=verdict, findings=(), comparison=silent))
    assert text.startswith("INCONCLUSIVE")
    assert "cause not established" in text
    assert "Next: Use --threads 1." in text
    assert "Cost of the resume" not in text
    assert "None" not in text
    assert "sampler 1" not in text


def test_the_rank_that_others_wait_for_is_named() -> None:
    """All ranks of a data-parallel run take the same time; what differs is how long each is busy."""
    ranks = (RankDelta(0, 0.033, 0.051, 0.030, 0.031), RankDelta(1, 0.033, 0.051, 0.030, 0.050))
    text = flat(render(probe_report(comparison=replace(comparison(), ranks=ranks, slow_rank=1))))
    assert "rank 1 makes the others wait: it is busy 50.0 ms of each step, they 31.0 ms at most" in text
    assert "Ranks:" not in render(probe_report())
