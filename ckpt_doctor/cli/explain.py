"""``ckpt-doctor explain``: a rule's page."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import typer

from ckpt_doctor.checks.engine import Rule, catalogue
from ckpt_doctor.cli.output import terminal_width, wants_colour, write_out
from ckpt_doctor.errors import UsageError
from ckpt_doctor.report.wording.pages import page

if TYPE_CHECKING:
    from ckpt_doctor.report.terminal.screen import Screen

_EXAMPLES = """\b
Examples:
  ckpt-doctor explain DAT203
  ckpt-doctor explain --list
"""

_HEADINGS = ("#", "##")
"""How the title and the other headings of a page begin."""

_MOST_ALIKE = 4
"""Of more rules than these a mistyped code tells none."""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("explain", epilog=_EXAMPLES)(explain)


def _codes(incomplete: str) -> list[str]:
    return [rule.code for rule in catalogue() if rule.code.startswith(incomplete.upper())]


def explain(
    code: Annotated[
        str | None,
        typer.Argument(metavar="CODE", help="Code or name of a rule.", autocompletion=_codes),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="List all rules.")] = False,
) -> None:
    """Tell what a rule means, and how to fix what it found.

    A page says as well how the rule measures, and when it is wrong.
    """
    if (code is None) != list_all:
        raise UsageError("explain takes either the code of a rule or --list")
    from ckpt_doctor.report.terminal.screen import Column, Screen

    screen = Screen(width=terminal_width(), colour=wants_colour())
    if code is None:
        rows = [[rule.code, rule.name, _summary(rule)] for rule in catalogue()]
        screen.table([Column("code", style="bold"), Column("name"), Column("")], rows)
    else:
        for rule in _rules(code):
            _page(screen, rule)
    write_out(screen.text())


def _rules(code: str) -> list[Rule]:
    """The rule with a code, or all rules with a name: a checkpoint's and a run's rule may share one."""
    rules = [rule for rule in catalogue() if code.upper() == rule.code or code.lower() == rule.name]
    if not rules:
        raise UsageError(f"{code!r} is no rule", hint=_alike(code))
    return rules


def _alike(words: str) -> str:
    """The rules that may have been meant, or where all of them are listed."""
    names = {name: rule for rule in catalogue() for name in (rule.code.lower(), rule.name)}
    within = [name for name in names if words.lower() in name]
    found = {names[name].code: names[name] for name in within or get_close_matches(words.lower(), names)}
    if not words or not found or len(found) > _MOST_ALIKE:
        return "`ckpt-doctor explain --list` lists them."
    return f"Perhaps {' or '.join(f'{rule.code} {rule.name}' for rule in found.values())}?"


def _summary(rule: Rule) -> str:
    return rule.doc.partition("\n\n")[0].replace("\n", " ")


def _page(screen: Screen, rule: Rule) -> None:
    """Write a rule's page as it is shipped: a title, then paragraphs under their headings."""
    text = page(rule.code)
    assert text is not None, "a rule without its page: `make docs` writes it"
    for block in text.strip().split("\n\n"):
        _block(screen, block)


def _block(screen: Screen, block: str) -> None:
    """Write one heading, paragraph or list."""
    mark, _, words = block.partition(" ")
    if mark in _HEADINGS:
        screen.line((words, "bold"))
        if mark == _HEADINGS[0]:
            screen.blank()
        return
    lines = block.split("\n")
    if any(line.startswith((" ", "- ", "* ")) for line in lines):
        for line in lines:
            screen.line(line.strip(), indent=2 + len(line) - len(line.lstrip()))
    else:
        screen.line(" ".join(lines), indent=2)
    screen.blank()
