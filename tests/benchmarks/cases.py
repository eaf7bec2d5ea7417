"""The cases of fixtures/scripts/manifest.json, and how to probe one of them from the shell."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "fixtures" / "scripts"
TIMEOUT_S = 420.0
TURNS = "8"
"""Fewer than the default: 135 probes are to fit into less than an hour."""


@dataclass(frozen=True)
class ProbeCase:
    """One script, healthy or with one fault, and what has to be said of it."""

    name: str
    script: str
    launcher: str
    arguments: tuple[str, ...]
    resume_args: str | None
    prepare: tuple[str, ...] | None
    fault: str | None
    cause: str | None
    alternatives: tuple[str, ...]
    side: str
    cost: str | None
    requires: tuple[str, ...]
    tools: tuple[str, ...]
    without_cpu: tuple[str, ...]
    """Features of a processor that takes no longer with the fault: there it is none."""

    @property
    def missing(self) -> list[str]:
        """Packages, programs and kinds of processors that this machine lacks for the case."""
        packages = [name for name in self.requires if find_spec(name) is None]
        tools = [tool for tool in self.tools if shutil.which(tool) is None]
        return packages + tools + [f"a CPU without {name}" for name in self.without_cpu if name in _cpu()]

    @property
    def right_codes(self) -> frozenset[str]:
        """Codes of which the first cause must be one; empty for a healthy script."""
        return frozenset((self.cause, *self.alternatives)) if self.cause else frozenset()


@dataclass(frozen=True)
class Answer:
    """What one probe said."""

    exit_code: int
    status: str | None
    side: str | None
    cause: str | None
    ratio: float | None
    low: float | None
    high: float | None
    message: str
    """What it printed where there is no report."""

    def is_right(self, case: ProbeCase) -> bool:
        """Whether the exit code and the first cause are what the case demands."""
        if case.cause is None:
            return self.exit_code == 0
        return self.exit_code == 1 and self.cause in case.right_codes

    def has_right_side(self, case: ProbeCase) -> bool:
        """Whether the side is the case's; a cause that is accepted in its place has its own."""
        return self.side == case.side or self.cause in case.alternatives


def cases() -> list[ProbeCase]:
    """All cases, healthy ones first."""
    rows = json.loads((SCRIPTS / "manifest.json").read_text(encoding="utf-8"))["cases"]
    names = ProbeCase.__dataclass_fields__
    return [ProbeCase(**{key: _frozen(row[key]) for key in names}) for row in rows]


def probe(case: ProbeCase, folder: Path, data: Path, options: Sequence[str] = ()) -> Answer:
    """Probe one case in a new folder, with further options; ``data`` may be kept between probes."""
    folder.mkdir(parents=True)
    values = {"{out}": str(folder / "out"), "{data}": str(data)}
    if case.prepare is not None:
        prepare = [*_launcher(case), *_filled(case.prepare, values)]
        subprocess.run(prepare, check=True, capture_output=True, cwd=folder, timeout=TIMEOUT_S)
    command = [sys.executable, "-m", "ckpt_doctor", "probe", "--format", "json"]
    command += [
        "--threads",
        "1",
        "--steady-heap",
        "--turns",
        TURNS,
        "--recordings",
        str(folder / "recordings"),
        *options,
    ]
    if case.resume_args is not None:
        command += ["--resume-args", case.resume_args]
    command += ["--", *_launcher(case), *_filled(case.arguments, values)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=TIMEOUT_S)
    (folder / "command.txt").write_text(shlex.join(command), encoding="utf-8")
    (folder / "report.json").write_text(done.stdout, encoding="utf-8")
    return _answer(done)


def _answer(done: subprocess.CompletedProcess[str]) -> Answer:
    try:
        verdict = json.loads(done.stdout)["verdict"]
    except ValueError:
        return Answer(done.returncode, None, None, None, None, None, None, done.stderr.strip())
    keys = ("status", "side", "cause", "ratio", "ratio_low", "ratio_high")
    return Answer(done.returncode, *(verdict[key] for key in keys), message="")


def _launcher(case: ProbeCase) -> list[str]:
    script = str(SCRIPTS / case.script)
    if case.launcher == "python":
        return [sys.executable, script]
    name, ranks = case.launcher.split()
    return [os.path.join(sysconfig.get_path("scripts"), name), "--nproc-per-node", ranks, script]


def _filled(arguments: tuple[str, ...], values: dict[str, str]) -> list[str]:
    filled = []
    for argument in arguments:
        for key, value in values.items():
            argument = argument.replace(key, value)
        filled.append(argument)
    return filled


def _cpu() -> frozenset[str]:
    """Features of the processor, as the kernel names them; none where there is no /proc."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        return frozenset(word for line in file if line.startswith("flags") for word in line.split())
    return frozenset()


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
