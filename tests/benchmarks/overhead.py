"""What the agent costs: the same script with and without it, in turns, at several lengths of a step.

Run with ``python -m tests.benchmarks.overhead`` (part of ``make bench``). Each pair of runs is one
ratio; what the agent says of itself is printed beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.probe.arm import with_agent
from tests.benchmarks.results import write_section

SCRIPT = """
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset
width, steps = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 64), torch.randint(0, 8, (4096,)))
model = torch.nn.Sequential(torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
times, done = [], 0
while done < steps:
    for x, y in DataLoader(data, batch_size=32, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        done += 1
        times.append(time.perf_counter())
        if done >= steps:
            break
half = len(times) // 2
print((times[-1] - times[half]) / (len(times) - 1 - half))
"""

LENGTHS = ((64, 4000), (6000, 1500), (20000, 600), (60000, 200))
"""Width of the model and steps of a run: about 0.4, 1.5, 5 and 20 ms a step on the machine it was made on."""


@dataclass(frozen=True)
class Pair:
    """One run without the agent and one with it."""

    plain_s: float
    watched_s: float
    hook_s: float


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.overhead {' '.join(sys.argv[1:])}`.",
        "",
        "| step without the agent | pairs | step with over without: median (all) | hooks per step |",
        "|---|---|---|---|",
    ]
    for width, steps in LENGTHS:
        pairs = [_pair(width, steps) for _ in range(arguments.pairs)]
        ratios = sorted(pair.watched_s / pair.plain_s for pair in pairs)
        every = ", ".join(f"{ratio:.3f}" for ratio in ratios)
        plain_ms = 1e3 * median(pair.plain_s for pair in pairs)
        hook_us = 1e6 * median(pair.hook_s for pair in pairs)
        lines.append(
            f"| {plain_ms:.2f} ms | {len(pairs)} | {median(ratios):.3f} ({every}) | {hook_us:.1f} µs |"
        )
        print(lines[-1], flush=True)
    if arguments.write:
        write_section("What the agent costs", "\n".join(lines))


def _pair(width: int, steps: int) -> Pair:
    plain_s = _run(width, steps, dict(os.environ))
    with tempfile.TemporaryDirectory() as folder:
        watched_s = _run(width, steps, with_agent(os.environ, AgentOptions(recording=folder)))
        journal = next(Path(folder).glob("rank*.jsonl"))
        trailer = json.loads(journal.read_text(encoding="utf-8").splitlines()[-1])
    return Pair(plain_s, watched_s, trailer[3])


def _run(width: int, steps: int, environment: dict[str, str]) -> float:
    """Mean step time of the second half of a run, in seconds, as the script itself measures it."""
    command = [sys.executable, "-c", SCRIPT, str(width), str(steps)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()
