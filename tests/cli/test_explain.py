"""`explain` shows a rule's own page."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import HEADINGS, Rule, catalogue
from ckpt_doctor.report.wording.pages import page
from tests.cli.conftest import Cli


def words(text: str) -> list[str]:
    """The words of a text, without its layout."""
    return [word for word in text.split() if set(word) != {"#"}]


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: rule.code)
def test_every_rule_has_its_page(cli: Cli, rule: Rule) -> None:
    """A page is the one that is shipped, every word in order, under its headings."""
    outcome = cli("explain", rule.code.lower())
    assert outcome.code == 0
    assert outcome.out.startswith(f"{rule.code} {rule.name}\n")
    assert words(outcome.out) == words(page(rule.code) or "")
    for heading in HEADINGS:
        assert f"\n{heading}\n" in outcome.out
    assert outcome.out.rstrip() in cli("explain", rule.name).out


def test_the_list(cli: Cli) -> None:
    """All rules are listed with code and name."""
    outcome = cli("explain", "--list")
    assert outcome.code == 0
    for rule in catalogue():
        assert rule.code in outcome.out
        assert rule.name in outcome.out


@pytest.mark.parametrize("arguments", [("DAT999",), (), ("DAT203", "--list")])
def test_mistakes(cli: Cli, arguments: tuple[str, ...]) -> None:
    """An unknown rule, no rule, and a rule beside --list are errors of usage."""
    assert cli("explain", *arguments).code == 2


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("respawned", "Perhaps DAT204 workers-respawned?"),
        ("cold-page-cash", "Perhaps DAT203 cold-page-cache?"),
        ("DAT2", "--list"),
        ("qqqq", "--list"),
    ],
)
def test_what_may_have_been_meant(cli: Cli, typed: str, hint: str) -> None:
    """A code or name that is not quite one is answered with the rule that is like it, if there are few."""
    assert hint in cli("explain", typed).err
