"""The Markdown report: what a reader sees is what the facts say, and nothing in them is Markdown."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ckpt_doctor.facts.report import Evidence
from ckpt_doctor.report.markdown import render
from tests.report.sample import (
    cold_cache,
    foreign_report,
    inspect_report,
    measured_report,
    order_lost,
    probe_report,
)

COMMENT = 65_536
"""Characters that a comment on GitHub holds."""
PARSER = MarkdownIt("commonmark", {"html": True, "linkify": True}).enable(
    ["table", "strikethrough", "linkify"]
)

HOSTILE = (
    "<script>alert(1)</script>",
    "| cell | cell |",
    "**bold** _it_ ~~no~~ `code`",
    "[text](https://example.org) ![image](x.png)",
    "https://example.org www.example.org",
    "# heading",
    "- item",
    "12. item",
    "===",
    "</details>\n\n# out",
    "$x^2$",
    "a\\",
)


def shown(text: str) -> str:
    """What a reader sees: the text of the page, without its elements."""
    return re.sub(r"\s+", " ", re.sub(r"<!--.*?-->|<[^>]+>", "", PARSER.render(text)))


def elements(text: str) -> list[str]:
    """The elements of the page, in order."""
    return re.findall(r"<(\w+)", re.sub(r"<!--.*?-->", "", PARSER.render(text)))


def foreign(words: str) -> str:
    """The Markdown of a report all of whose texts from outside are these words."""
    return render(foreign_report(words))


def test_the_verdict_is_first_and_all_parts_follow() -> None:
    """Outcome and cause are the heading; sentence, fix, budget, evidence and limits follow in order."""
    text = render(probe_report())
    assert text.startswith("## SLOWER 1.53× (1.49–1.57) · data side · cold-page-cache")
    page = shown(text)
    places = [
        page.index(words)
        for words in (
            "51.2 ms per step instead",
            "Fix:",
            "data wait",
            "physical bytes read per step, after",
            "Cost of the resume, once",
            "runs/x/last.pt",
            "The page cache could not be put back",
            "Not evaluated",
            "Measured:",
            "Checklist",
        )
    ]
    assert places == sorted(places)
    assert "12.4 MB/step" in page
    assert "train.py:42" in page
    assert elements(text).count("table") == 5


def test_the_checklist_is_a_task_list() -> None:
    """Only what was checked is ticked; every item says what came of it, with all of its rules."""
    text = render(probe_report())
    lines = [line for line in text.splitlines() if line.startswith("- [")]
    assert len(lines) == len(probe_report().checklist)
    assert lines[2] == (
        "- [x] persistent workers: **checked**, on; no start within 60 steps (DAT204, DAT205)"
    )
    assert lines[4].startswith("- [ ] state restored: **failed**, data order not restored (DAT201, ")
    assert lines[3].startswith("- [ ] recompiles and graphs: **not evaluated**, no CUDA device (")
    assert "Checklist" not in render(inspect_report())


def test_an_inspection_and_two_checkpoints() -> None:
    """Without runs there is no budget; what two checkpoints differ in is a table."""
    text = render(inspect_report())
    assert text.startswith("## FINDINGS: 1 warning\n")
    assert "Where the time" not in text
    assert "absent" in shown(text)
    page = shown(foreign("model"))
    assert "What changed inside" in page
    assert "lost: scheduler" in page


def test_the_same_words_as_in_the_terminal() -> None:
    """A long list of findings is told in full, each with its own remedy, and none twice."""
    findings = tuple(
        order_lost(code=f"STA{n}", name=f"lost-{n}", remedy=f"remedy {n}") for n in range(101, 120)
    )
    page = shown(render(inspect_report(findings=findings)))
    for n in range(101, 120):
        assert page.count(f"remedy {n}") == 1


@pytest.mark.parametrize("words", HOSTILE)
def test_nothing_from_outside_is_markdown(words: str) -> None:
    """Foreign texts add no element to the page and are shown as they are."""
    assert elements(foreign(words)) == elements(foreign("x"))
    assert re.sub(r"\s+", " ", words).strip() in _unescaped(shown(foreign(words)))


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet="ab1 *_`[]()<>|#~!\\-+=.:/@$&\n\r\x1b\u202e", max_size=25).map(lambda text: f"q{text}q")
)
def test_any_text_is_only_text(words: str) -> None:
    """No text whatsoever adds an element."""
    assert elements(foreign(words)) == elements(foreign("x"))


@pytest.mark.parametrize("words", ["@someone", "see #12", "GH-12", "a@example.org"])
def test_nobody_is_called(words: str) -> None:
    """A name or number in a foreign text is broken by a comment, so that GitHub links nothing."""
    assert words not in foreign(words)
    assert words in shown(foreign(words))


def test_it_fits_into_a_comment() -> None:
    """However much was found, the text stays within a comment and says that something is left out."""
    long = "word " * 400
    findings = tuple(order_lost(code=f"STA{n}", name=f"lost-{n}", remedy=long) for n in range(101, 190))
    text = render(inspect_report(findings=findings))
    assert len(text) <= COMMENT
    assert "does not fit" in text
    assert len(render(measured_report())) < COMMENT / 2


def test_long_tables_are_cut() -> None:
    """Of very many pieces of evidence some are shown, and the number of the others is told."""
    evidence = tuple(Evidence(f"piece {n}", n, None, "agent") for n in range(50))
    page = shown(render(probe_report(findings=(replace(cold_cache(), evidence=evidence),))))
    assert "piece 29" in page
    assert "piece 30" not in page
    assert "and 20 more" in page


def _unescaped(page: str) -> str:
    for entity, char in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        page = page.replace(entity, char)
    return page
