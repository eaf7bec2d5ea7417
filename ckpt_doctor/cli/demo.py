"""``ckpt-doctor demo``: a bundled training script with a real fault, probed."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import typer

from ckpt_doctor import doctor
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.options import FormatName, OutputFiles
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.errors import MachineError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.probe.request import ProbeRequest

_SCRIPT = "stream_epochs.py"
_ARGUMENTS = ("--out", "{folder}/run", "--fault", "respawn")
_RESUME_ARGS = "--restore {checkpoint}"
_NEEDS = ("torch", "numpy")

_EXAMPLES = """\b
Examples:
  ckpt-doctor demo
  ckpt-doctor demo -o verdict.html
"""


def add_to(app: typer.Typer) -> None:
    """Make the command known."""
    app.command("demo", epilog=_EXAMPLES)(demo)


def demo(format_name: FormatName = "text", output: OutputFiles = None) -> None:
    """Probe a bundled script that has a real fault.

    The script trains, saves and resumes in a temporary folder that is removed at the end. As with
    any probe that names a cause, the exit code is 1.
    """
    missing = [name for name in _NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise MachineError(f"the demo's script needs {missing[0]}", hint=f"pip install {' '.join(missing)}")
    destinations, policy = Destinations(format_name, output), Policy()
    with tempfile.TemporaryDirectory(prefix="ckpt-doctor-demo-") as folder, progress.shown() as show:
        arguments = (argument.replace("{folder}", folder) for argument in _ARGUMENTS)
        request = ProbeRequest(
            command=(sys.executable, os.path.relpath(_scripts() / _SCRIPT), *arguments),
            resume_args=_RESUME_ARGS,
            threads=1,
            steady_heap=True,
            output=Path(folder) / "recordings",
        )
        report = doctor.probe(request, policy, show)
    # The recordings that the report's context names are gone by now.
    raise typer.Exit(destinations.deliver(replace(report, context={}), policy))


def _scripts() -> Path:
    """The folder of bundled scripts: in a wheel beside the package's code, in a checkout among the fixtures.

    Raises:
        MachineError: This installation lacks them.
    """
    package = Path(doctor.__file__).parent
    for folder in (package / "demo_scripts", package.parent / "fixtures" / "scripts"):
        if (folder / _SCRIPT).is_file():
            return folder
    raise MachineError(
        "this installation has no demo scripts", hint="pip install --force-reinstall ckpt-doctor"
    )
