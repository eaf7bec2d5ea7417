"""The pages of the rules that are shipped with the package are those of the rules."""

from __future__ import annotations

import re

from ckpt_doctor.checks import loading
from ckpt_doctor.checks.engine import HEADINGS, catalogue
from ckpt_doctor.report.wording.pages import page
from tests.structure.pages import FOLDER, pages


def test_the_pages_are_those_of_the_rules() -> None:
    """Each rule has its page and no other is there; where this fails, `make docs` writes them anew."""
    shipped = {path.name: path.read_text("utf-8") for path in FOLDER.glob("*.md")}
    assert shipped == pages(), "run `make docs`"


def test_reports_find_the_pages() -> None:
    """A report that shows a rule's page gets it under its headings, and none for a code that is no rule's."""
    for rule in catalogue():
        text = page(rule.code)
        assert text is not None
        assert text.startswith(f"# {rule.code} {rule.name}\n")
        assert all(f"\n## {heading}\n" in text for heading in HEADINGS)
    assert page("DAT999") is None


def test_constants_are_told_as_values() -> None:
    """A page names thresholds by their values and units; variables of the shell keep their names."""
    assert f"at least {loading.RESTARTS} more" in (page("DAT204") or "")
    assert "16.4 kB at least" in (page("DAT203") or "")
    assert "`MALLOC_TRIM_THRESHOLD_`" in (page("CMP317") or "")
    for text in pages().values():
        assert not re.search(r"`[a-z_]+\.[A-Z_]+`", text)
