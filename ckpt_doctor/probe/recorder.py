"""Records one run without controlling it: light enough to be left on."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ckpt_doctor.agent.control import PREFIX
from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.errors import ScriptError
from ckpt_doctor.probe.arm import with_agent
from ckpt_doctor.probe.nodes import output_folder
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.probe.sampler import Sampler

EVERY_S = 1.0
"""A run of days needs no ten samples a second."""

PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
"""Signals that schedulers send to the process that they started: the script is to get them."""


def run_recorded(command: Sequence[str], output: Path) -> int:
    """Run a command to its end in the foreground; returns its exit code, or 128 + n for signal n.

    One of several parts of a job is recorded in a folder of its own below ``output``.

    Raises:
        InputError: The output folder is in use, or cannot be made.
        ScriptError: The command cannot be started.
    """
    folder = output_folder(output, command, os.environ)
    options = AgentOptions(recording=str(folder))
    try:
        child = subprocess.Popen(list(command), env=with_agent(os.environ, options))
    except OSError as error:
        raise ScriptError(
            f"{command[0]}: {error.strerror}", hint="give a script or a program that exists"
        ) from error
    recording = RecordingWriter(folder, command, None, {})
    sampler = Sampler(os.getpid(), recording, every_s=EVERY_S)
    with _passing_signals_to(child):
        code = _wait(child)
    sampler.close()
    for control in folder.glob(f"{PREFIX}*"):
        control.unlink(missing_ok=True)
    exit_code = 128 - code if code < 0 else code
    recording.finish(ended_by="itself" if code >= 0 else f"signal {-code}", exit_code=code, not_measured={})
    return exit_code


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Wait for the child; Ctrl-C reaches it from the terminal, and what it does then is its own business."""
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue


@contextmanager
def _passing_signals_to(child: subprocess.Popen[bytes]) -> Iterator[None]:
    def pass_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
