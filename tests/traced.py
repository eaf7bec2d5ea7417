"""Runs training scripts under torch.profiler, in processes of their own, as people do who want a trace."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.recorded import environment

TIMEOUT_S = 240.0

_DRIVER = """
import os, runpy, sys, types
import torch
from torch.profiler import ProfilerActivity, profile, schedule

path, skipped, active, with_stack = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "stacks"
sys.argv = sys.argv[5:]
sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))

def ready(prof):
    prof.export_chrome_trace(path)
    sys.stdout.flush()
    os._exit(0)

prof = profile(
    activities=[ProfilerActivity.CPU],
    schedule=schedule(wait=skipped, warmup=1, active=active, repeat=1),
    on_trace_ready=ready,
    record_shapes=True,
    with_stack=with_stack,
)
prof.start()

original = torch.optim.Optimizer.__init__
first = []

def init(optimizer, *args, **kwargs):
    original(optimizer, *args, **kwargs)
    step = optimizer.step
    first.append(id(optimizer))

    def marked(self, *args, **kwargs):
        result = step(*args, **kwargs)
        if id(self) == first[0]:
            prof.step()
        return result

    optimizer.step = types.MethodType(marked, optimizer)

torch.optim.Optimizer.__init__ = init
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Calls ``prof.step()`` after each step of the script's first optimizer, and ends once it has its trace."""


def trace(
    folder: Path, path: Path, command: list[str], *, skipped: int, active: int, with_stack: bool = False
) -> None:
    """Run a script until it has been profiled.

    Args:
        folder: Where it runs.
        path: Where the trace goes.
        command: The script and its arguments.
        skipped: Steps before the profiler starts.
        active: Steps in the trace.
        with_stack: Whether the profiler records Python's calls as well.
    """
    words = [str(path), str(skipped), str(active), "stacks" if with_stack else "plain", *command]
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, *words],
        cwd=folder,
        env=environment(MALLOC_MMAP_THRESHOLD_="33554432", MALLOC_TRIM_THRESHOLD_="1073741824"),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert path.is_file(), done.stderr


def trace_pair(
    folder: Path,
    script: Path,
    arguments: list[str],
    resume: list[str],
    *,
    save_step: int,
    active: int = 60,
    with_stack: bool = False,
) -> tuple[Path, Path]:
    """Traces of a run behind its save, and of the same run resumed, both once they have settled.

    Args:
        folder: An empty folder.
        script: The script.
        arguments: Its arguments; ``{out}`` and ``{data}`` are folders below ``folder``.
        resume: What is added to resume; ``{checkpoint}`` is what it saved last.
        save_step: The step at which it saves.
        active: Steps in each trace.
        with_stack: Whether the profiler records Python's calls as well.
    """
    out, data = folder / "out", folder / "data"
    data.mkdir()
    values = {"{out}": str(out), "{data}": str(data)}
    command = [str(script), *(_filled(argument, values) for argument in arguments)]
    before, after = folder / "before.json", folder / "after.json.gz"
    trace(folder, before, command, skipped=save_step + 10, active=active, with_stack=with_stack)
    saved = max(out.iterdir(), key=lambda path: path.stat().st_mtime)
    values["{checkpoint}"] = str(saved)
    resumed = [*command, *(_filled(argument, values) for argument in resume)]
    trace(folder, after, resumed, skipped=20, active=active, with_stack=with_stack)
    return before, after


def _filled(argument: str, values: dict[str, str]) -> str:
    for key, value in values.items():
        argument = argument.replace(key, value)
    return argument
