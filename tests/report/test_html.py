"""The HTML page holds everything, fetches nothing, and nothing from outside is markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.report.html import render
from tests.report.page.browser import NEEDS_PICTURES
from tests.report.sample import foreign_report, inspect_report, measured_report, probe_report

pytest.importorskip("jinja2")

pytestmark = NEEDS_PICTURES

ADDRESS = re.compile(r"url\(|@import|src\s*=|href\s*=(?!\"#)", re.IGNORECASE)
"""What would load something; a link to a place within the page does not."""
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, which is open unless it never closes; where words may be broken there is none."""
        if tag == "wbr":
            return
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that is closed at once."""
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        """The element that was opened last closes."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keep what a reader sees."""
        if self.open and self.open[-1] != "style":
            self.text += data


def test_everything_is_there() -> None:
    """Verdict, budget, steps, start, findings, lines, processes, checkpoint and limits are told, in order."""
    page = Page(render(measured_report()))
    assert page.open == []
    places = [
        page.text.index(words)
        for words in (
            "SLOWER",
            "Mean time of each part",
            "Each step of both runs",
            "first step done",
            "DAT203 cold-page-cache",
            "no CUDA device",
            "data order not restored",
            "The lines of your own",
            "model.py:7",
            "Memory (RSS)",
            "runs/x/last.pt",
            "the stack sampler was off",
            "python train.py",
        )
    ]
    assert places == sorted(places)
    assert page.elements.count("svg") == 2 * 6


def test_every_section_can_be_reached() -> None:
    """The page begins with links to its sections, as many as there are; an inspection's few need none."""
    text = render(measured_report())
    anchors = re.findall(r'<a href="#([a-z0-9-]+)">', text)
    assert anchors == re.findall(r'<section id="([a-z0-9-]+)">', text)
    assert {"budget", "findings", "checklist", "measured"} < set(anchors)
    assert "<nav>" not in render(inspect_report())


def test_only_what_is_drawn_is_explained() -> None:
    """Steps without turns and without a save have no marks of them, and no words about them."""
    whole = measured_report()
    assert "A turn is a time" in Page(render(whole)).text
    assert whole.comparison is not None
    run = whole.comparison.after.run
    trace = replace(run, turns=(), meta=replace(run.meta, kind="Kineto trace", command=(), host=""))
    after = replace(whole.comparison.after, run=trace)
    page = Page(
        render(replace(whole, comparison=replace(whole.comparison, after=after), context={"after": "b"}))
    )
    assert "A turn is a time" not in page.text
    assert "save, resume" not in page.text
    assert "after: b\n" in page.text


def test_nothing_is_fetched() -> None:
    """No address is loaded, no script runs, and a policy forbids both."""
    text = render(measured_report())
    assert not ADDRESS.search(text)
    page = Page(text)
    assert "script" not in page.elements
    assert not [name for name in page.attributes if name.startswith("on")]
    assert "default-src 'none'" in text


def test_the_same_report_is_the_same_page() -> None:
    """Nothing in the page comes from a clock or from chance."""
    assert render(measured_report()) == render(measured_report())


def test_what_was_not_measured_has_no_picture() -> None:
    """Without steps there is no plot of them; an inspection has no picture at all."""
    page = Page(render(probe_report()))
    assert "Where the time" in page.text
    assert "Step times" not in page.text
    page = Page(render(inspect_report()))
    assert "svg" not in page.elements
    assert "FINDINGS: 1 warning" in page.text
    assert "Checklist" not in page.text
    assert "sampler_rng" in page.text


HOSTILE = "</style></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"'{{ 7*7 }}&amp;\x1b[31m\u202e"


@settings(max_examples=15, deadline=None)
@given(st.text(max_size=20).map(lambda text: f"{HOSTILE}{text}"))
def test_nothing_from_outside_is_markup(words: str) -> None:
    """Foreign texts add no element and no attribute, are no template, and hold no control characters."""
    text = render(foreign_report(words))
    page, usual = Page(text), Page(render(foreign_report("x")))
    assert page.elements == usual.elements
    assert page.attributes == usual.attributes
    assert "{{ 7*7 }}" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
