"""``ckpt-doctor treat``: a repaired copy of a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ckpt_doctor import doctor, units
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.output import terminal_width, wants_colour, write_out
from ckpt_doctor.cli.policy import project_policy
from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.repair import Repair, RepairOutcome, RepairRequest

if TYPE_CHECKING:
    from ckpt_doctor.report.terminal.screen import Screen

_EXAMPLES = """\b
Examples:
  ckpt-doctor treat run/last.pt -o run/fixed.pt
  ckpt-doctor treat run/last.pt --dry-run
  ckpt-doctor treat run/last.pt -o fixed.pt --skip STA143
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("treat", epilog=_EXAMPLES)(treat)


def treat(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="Checkpoint file or folder.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="Where the copy goes.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="CODE", help="Repair only what this rule finds. May be given several times."
        ),
    ] = None,
    skipped: Annotated[
        list[str] | None,
        typer.Option("--skip", metavar="CODE", help="Leave alone what this rule finds. Also several times."),
    ] = None,
    dropped_names: Annotated[
        list[str] | None,
        typer.Option(
            "--drop-state",
            metavar="NAME",
            help="Also drop this name of optimizer state, which no optimizer known here uses.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would be done, and write nothing.")
    ] = False,
    allow_overwrite: Annotated[
        bool, typer.Option("--allow-overwrite", help="Replace what stands in the place of the copy.")
    ] = False,
) -> None:
    """Write a repaired copy of a checkpoint.

    Storages are cut to their tensors, wide optimizer state is cast, orphans are dropped, wrapper prefixes
    stripped, slow flags reset, CUDA placements made CPU, histories left out. The checkpoint itself is never
    touched, and it is loaded with weights_only=True or not at all.
    """
    if output is None and not dry_run:
        raise UsageError("treat needs a place for the copy", hint="Name it with -o, or add --dry-run.")
    request = RepairRequest(
        path=checkpoint,
        output=None if dry_run else str(output),
        only=_codes(only),
        skipped=_codes(skipped),
        dropped_names=frozenset(dropped_names or ()),
        allow_overwrite=allow_overwrite,
    )
    policy = project_policy(Path.cwd())
    with progress.shown() as show:
        show("repairing", None)
        outcome = doctor.treat(request, policy)
    write_out(_told(outcome))


def _codes(words: list[str] | None) -> frozenset[str]:
    return frozenset(word.upper() for word in words or ())


def _told(outcome: RepairOutcome) -> str:
    """What was done and what was not, as text for a terminal."""
    from ckpt_doctor.report.terminal.screen import Screen

    screen = Screen(width=terminal_width(), colour=wants_colour())
    screen.line((_headline(outcome), "bold"))
    for repair in outcome.repairs:
        screen.blank()
        _tell_repair(screen, repair)
    screen.blank()
    if outcome.has_changes:
        exact = "every value that is left is the same to the last bit"
        screen.line(exact if outcome.is_exact else "values changed only where they were cast")
    if outcome.after is not None and outcome.after.format != outcome.before.format:
        screen.line(f"written as {outcome.after.format}; it was {outcome.before.format}")
    codes = [f"{each.code} {each.name}" for each in outcome.remaining]
    for label, words in (("Not wanted:", outcome.skipped), ("Still found:", tuple(dict.fromkeys(codes)))):
        if words:
            screen.labelled(label, ", ".join(words))
    return screen.text()


def _headline(outcome: RepairOutcome) -> str:
    before, after = outcome.before, outcome.after
    if after is None:
        done = (
            f"a copy would save {units.size(outcome.saved_bytes)}" if outcome.has_changes else "nothing to do"
        )
        return f"{before.path}: {done}; nothing was written"
    sizes = f"{units.size(before.size_bytes)} -> {units.size(after.size_bytes)}"
    what = sizes if outcome.has_changes else "nothing to do, copied as it is"
    return f"{before.path} -> {outcome.output}: {what}"


def _tell_repair(screen: Screen, repair: Repair) -> None:
    saved = f" · saves {units.size(repair.saved_bytes)}" if repair.saved_bytes > 0 else ""
    screen.line((f"{repair.code} {repair.name}", "bold"), saved)
    for change in repair.changes:
        screen.labelled(f"{change.where}:", change.what, style="", indent=2)
    for kept in repair.kept:
        screen.labelled(f"{kept.where}:", kept.why, style="yellow", indent=2)
