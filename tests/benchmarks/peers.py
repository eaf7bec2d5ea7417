"""What watching a run costs, ours beside others: the same script alone and watched, in turns.

Run with ``python -m tests.benchmarks.peers`` (part of ``make bench``). A round runs the script once alone
and once under each watcher, as its users start it; the script times its own steps. TraceML is measured
where it is installed (``pip install traceml-ai``); it alone needs two lines in the script.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median

from tests.benchmarks.results import write_section

SCRIPT = """
import contextlib, os, sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
{first}
out, width, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 64), torch.randint(0, 8, (4096,)))
model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
times = []
while len(times) < steps:
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        with {around}:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        times.append(time.perf_counter())
        if len(times) >= steps:
            break
half = len(times) // 2
with open(out, "w") as file:
    file.write(str((times[-1] - times[half]) / (len(times) - 1 - half)))
{last}
"""

LENGTHS = ((64, 2000), (6000, 400))
"""Width of the model and steps of a run: about 0.5 and 5 ms a step on the machine it was made on."""


@dataclass(frozen=True)
class Watcher:
    """Something that watches a training script."""

    name: str
    command: tuple[str, ...]
    """What stands before the script; ``{folder}`` is an empty one."""
    behind: tuple[str, ...] = ()
    """What stands between the script and its arguments."""
    first: str = ""
    around: str = "contextlib.nullcontext()"
    last: str = ""


ALONE = Watcher("nothing", (sys.executable,))


def watchers() -> list[Watcher]:
    """All that are installed here."""
    spy = shutil.which("py-spy", path=sysconfig.get_path("scripts")) or "py-spy"
    ours = (sys.executable, "-m", "ckpt_doctor")
    spying = (spy, "record", "--output", "{folder}/stacks.svg")
    found = [
        Watcher("`ckpt-doctor record`", (*ours, "record", "-o", "{folder}/rec")),
        Watcher("`py-spy record --nonblocking`", (*spying, "--nonblocking", "--", sys.executable)),
        Watcher("`py-spy record`", (*spying, "--", sys.executable)),
        Watcher(
            f"torch.profiler {metadata.version('torch')}, all steps",
            (sys.executable,),
            first="from torch.profiler import ProfilerActivity, profile\n"
            "profiler = profile(activities=[ProfilerActivity.CPU])\nprofiler.start()",
            last="os._exit(0)",  # Writing the trace would come behind the steps and is no part of them.
        ),
    ]
    if importlib.util.find_spec("traceml_ai") is not None:
        found.append(
            Watcher(
                f"TraceML {metadata.version('traceml-ai')}",
                (sys.executable, "-m", "traceml_ai.launcher.cli", "run", "--logs-dir", "{folder}/logs"),
                behind=("--args",),
                first="import traceml_ai as traceml\ntraceml.init(mode='auto')",
                around="traceml.trace_step(model)",
            )
        )
    return found


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.peers {' '.join(sys.argv[1:])}`. Mean step time of a watched run "
        "over that of the same script alone in the same round; py-spy takes 100 samples a second.",
        "",
        "| watched by | step alone | rounds | step watched over alone: median (all) |",
        "|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for width, steps in LENGTHS:
        rounds = [_round(width, steps) for _ in range(arguments.rounds)]
        alone_ms = 1e3 * median(times[ALONE.name] for times in rounds)
        for watcher in watchers():
            ratios = sorted(times[watcher.name] / times[ALONE.name] for times in rounds)
            every = ", ".join(f"{ratio:.2f}" for ratio in ratios)
            lines.append(
                f"| {watcher.name} | {alone_ms:.2f} ms | {len(rounds)} | {median(ratios):.2f} ({every}) |"
            )
            print(lines[-1], flush=True)
    if arguments.write:
        write_section("What watching costs, beside others", "\n".join(lines))


def _round(width: int, steps: int) -> dict[str, float]:
    """Mean step time of the script alone and under each watcher, in seconds."""
    return {each.name: _run(each, str(width), str(steps)) for each in (ALONE, *watchers())}


def _run(watcher: Watcher, *arguments: str) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as name:
        folder = Path(name)
        script, out = folder / "train.py", folder / "step_s"
        script.write_text(SCRIPT.format(first=watcher.first, around=watcher.around, last=watcher.last))
        command = [word.replace("{folder}", name) for word in watcher.command]
        _launch([*command, str(script), *watcher.behind, str(out), *arguments], folder)
        return float(out.read_text())


def _launch(command: Sequence[str], folder: Path) -> None:
    """Run a command to its end; the script's own output tells whether it worked.

    Raises:
        RuntimeError: The script did not come to its end.
    """
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not (folder / "step_s").is_file():
        raise RuntimeError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main()
