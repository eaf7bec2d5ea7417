"""``ckpt-doctor probe``: a fresh run, the resumed run, the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ckpt_doctor import doctor
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.options import FailOn, FormatName, Ignored, InconclusiveOk, OutputFiles
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.cli.policy import project_policy
from ckpt_doctor.cli.script import CONTEXT, ScriptWords, option_names, script_command
from ckpt_doctor.probe.request import ProbeRequest

_EXAMPLES = """\b
Examples:
  ckpt-doctor probe train.py --lr 1e-3
  ckpt-doctor probe --resume-args \\
      "--resume {checkpoint}" train.py --out run
  ckpt-doctor probe -- \\
      torchrun --nproc-per-node 2 train.py
  ckpt-doctor probe -m package.train --epochs 3
  ckpt-doctor probe --confirm train.py
  ckpt-doctor probe --pairs 8 --budget 120 train.py
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("probe", epilog=_EXAMPLES, context_settings=CONTEXT)(probe)


def probe(
    context: typer.Context,
    words: ScriptWords,
    resume_args: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Appended to the script's arguments to make it resume; {checkpoint} is what it saved.",
        ),
    ] = None,
    after_args: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Replaces the script's arguments to make it resume."),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Resume from this instead of from what the fresh run saves."),
    ] = None,
    checkpoint_path: Annotated[
        str | None,
        typer.Option(metavar="GLOB", help="Where the script saves, if it does so in a way of its own."),
    ] = None,
    resumes: Annotated[
        int,
        typer.Option(
            min=1, max=9, metavar="N", help="Resume so many times in a row, and compare the last one."
        ),
    ] = ProbeRequest.resumes,
    steps: Annotated[
        int, typer.Option(min=2, metavar="N", help="Compare at most this many steps.")
    ] = ProbeRequest.steps,
    turns: Annotated[
        int, typer.Option(min=1, metavar="N", help="Turns that each run takes.")
    ] = ProbeRequest.turns,
    turn: Annotated[
        float, typer.Option(min=0.05, metavar="SECONDS", help="Length of a turn.")
    ] = ProbeRequest.turn_s,
    budget: Annotated[
        float,
        typer.Option(min=1, metavar="SECONDS", help="Time for all turns together."),
    ] = ProbeRequest.budget_s,
    pairs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Measure so many pairs of processes, to tell a slowdown of a few per cent from chance "
            "(default: 1, and up to 3 where it leaves the answer open).",
        ),
    ] = ProbeRequest.pairs,
    first_step_timeout: Annotated[
        float,
        typer.Option(min=1, metavar="SECONDS", help="Give up if no step ends within this."),
    ] = ProbeRequest.first_step_timeout_s,
    save_timeout: Annotated[
        float,
        typer.Option(min=1, metavar="SECONDS", help="Give up if nothing is saved within this."),
    ] = ProbeRequest.save_timeout_s,
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Intra-op threads of both runs, against noise."),
    ] = None,
    steady_heap: Annotated[
        bool,
        typer.Option("--steady-heap", help="Fix glibc's heap thresholds in both runs."),
    ] = False,
    cold_cache: Annotated[
        bool,
        typer.Option("--cold-cache", help="Resume as on a machine that has never read the data."),
    ] = False,
    alternate: Annotated[
        bool,
        typer.Option(
            "--alternate", help="Run one after the other, not in turns: where memory does not hold both."
        ),
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm", help="Then take each suspected cause away in one more run, and see what comes back."
        ),
    ] = False,
    suspects: Annotated[
        list[str] | None,
        typer.Option(
            "--suspect",
            metavar="CODE",
            help="Take this rule's cause away, whether it was found or not. May be given several times.",
        ),
    ] = None,
    stacks: Annotated[
        bool,
        typer.Option("--stacks/--no-stacks", help="Sample stacks with py-spy, to name lines."),
    ] = True,
    allow_overwrite: Annotated[
        bool,
        typer.Option(
            "--allow-overwrite",
            help="Go on where the script overwrites or deletes files that existed before.",
        ),
    ] = False,
    recordings: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where both recordings go (default: a new folder below this one)."
        ),
    ] = None,
    format_name: FormatName = "text",
    output: OutputFiles = None,
    fail_on: FailOn = None,
    inconclusive_ok: InconclusiveOk = None,
    ignored: Ignored = None,
) -> None:
    """Run a script fresh and resumed, and say why it got slower.

    The script is not edited. It runs until it has saved a checkpoint and goes on from there as the
    control; then it is started again so that it resumes from that checkpoint. Both take turns
    over the same steps. Our options stand before the script; everything behind it is its own.
    """
    destinations = Destinations(format_name, output)
    policy = project_policy(
        Path.cwd(), ignored=ignored or (), fail_on=fail_on, inconclusive_ok=inconclusive_ok
    )
    request = ProbeRequest(
        command=script_command(words, option_names(context)),
        resume_args=resume_args,
        after_args=after_args,
        checkpoint=checkpoint,
        checkpoint_path=checkpoint_path,
        resumes=resumes,
        steps=steps,
        turns=turns,
        turn_s=turn,
        budget_s=budget,
        pairs=pairs,
        first_step_timeout_s=first_step_timeout,
        save_timeout_s=save_timeout,
        threads=threads,
        steady_heap=steady_heap,
        allow_overwrite=allow_overwrite,
        cold_cache=cold_cache,
        alternate=alternate,
        confirm=confirm,
        suspects=tuple(code.upper() for code in suspects or ()),
        stacks=stacks,
        output=recordings,
    )
    with progress.shown() as show:
        report = doctor.probe(request, policy, show)
    raise typer.Exit(destinations.deliver(report, policy))
