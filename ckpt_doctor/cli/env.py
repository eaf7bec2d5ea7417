"""``ckpt-doctor env``: what this machine lets the doctor see."""

from __future__ import annotations

import typer

from ckpt_doctor.cli.output import terminal_width, wants_colour, write_out

_YES = ("yes", "green")
_NO = ("no", "yellow")
_EXAMPLES = """\b
Examples:
  ckpt-doctor env
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("env", epilog=_EXAMPLES)(env)


def env() -> None:
    """Show what this machine lets the doctor see, with fixes.

    Each line was tried, not looked up. What is missing makes a verdict weaker, never wrong: rules
    that need it are reported as not evaluated. The exit code is 0 whatever is missing.
    """
    from ckpt_doctor.probe.environment import survey
    from ckpt_doctor.report.terminal.screen import Cell, Column, Screen

    screen = Screen(width=terminal_width(), colour=wants_colour())
    rows: list[list[Cell]] = []
    for ability in survey():
        rows.append([ability.name, _YES if ability.available else _NO, ability.detail])
        if ability.fix is not None:
            rows.append(["", "", f"Fix: {ability.fix}"])
    screen.table([Column("", style="bold"), Column(""), Column("")], rows, headings=False)
    write_out(screen.text())
