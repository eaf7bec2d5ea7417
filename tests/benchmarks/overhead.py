"""What the agent and the stack sampler cost: the same process with and without them, in turns.

Run with ``python -m tests.benchmarks.overhead`` (part of ``make bench``). Two processes of identical code
differ by more than the agent costs, so each process trains in blocks: without the hooks, with them, and with
stacks being sampled as well. The three blocks of a round are held against each other; what the agent says
of itself is printed beside them.

Two kinds of model: one wide layer, which goes through much memory in every step and leaves nothing of the
agent's in the caches, and many small layers, as a script has that is held up by Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median, quantiles

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.probe.arm import with_agent
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.probe.stacks import StackSampler
from ckpt_doctor.readers.recordings import read_recording
from tests.benchmarks.results import write_section

SCRIPT = """
import gc, sys, time, torch
from torch.optim import optimizer as optim
from torch.utils.data import DataLoader, TensorDataset

width, depth = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 64), torch.randint(0, 8, (4096,)))
widths = [64] + [width] * depth
layers = (layer for sizes in zip(widths, widths[1:]) for layer in (torch.nn.Linear(*sizes), torch.nn.ReLU()))
model = torch.nn.Sequential(*layers, torch.nn.Linear(width, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

def batches():
    while True:
        yield from DataLoader(data, batch_size=32, shuffle=True)

def train(feed, steps):
    for _, (x, y) in zip(range(steps), feed):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

train(batches(), 40)
# Whatever the agent has put in, to be taken out and put back between blocks.
agent = next(each for each in gc.get_objects() if type(each).__name__ == "Agent")
wrapped = [(owner, name, getattr(owner, name), original) for owner, name, original in agent._wrapped]
places = (optim._global_optimizer_pre_hooks, optim._global_optimizer_post_hooks)
hooks = [(place, dict(place)) for place in places]
collected = list(gc.callbacks)
assert wrapped and all(own for _, own in hooks) and collected

def watch(on):
    # What is wrapped twice gets its innermost self back last.
    for owner, name, replacement, original in wrapped if on else reversed(wrapped):
        setattr(owner, name, replacement if on else original)
    for place, own in hooks:
        place.clear()
        place.update(own if on else {})
    gc.callbacks[:] = collected if on else []

for line in sys.stdin:
    mode, steps = line.split()
    watch(mode != "plain")
    feed = batches()
    train(feed, 5)
    start = time.perf_counter()
    train(feed, int(steps))
    print((time.perf_counter() - start) / int(steps), flush=True)
watch(True)
"""

CASES = (
    ("one layer", 64, 1, 300),
    ("one layer", 6000, 1, 80),
    ("one layer", 20_000, 1, 20),
    ("many layers", 64, 60, 20),
    ("one layer", 60_000, 1, 8),
    ("one layer", 160_000, 1, 4),
)
"""Width and depth of the model, and steps of a block: about 0.4, 1.5, 4, 4, 16 and 50 ms a step where it was
made."""
MODES = ("plain", "agent", "stacks")
PROCESSES = 3


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40, help="of each process")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.overhead {' '.join(sys.argv[1:])}`. Blocks of one process in turns, "
        f"{PROCESSES} processes a row; step times over those without anything: median (quartiles).",
        "",
        "| model | step alone | rounds | with the agent | more | with the agent and stacks | hooks, median |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for model, width, depth, steps in CASES:
        runs = [_watched((width, depth), steps, arguments.rounds) for _ in range(PROCESSES)]
        rounds = [each for _, run in runs for each in run]
        hook_us = 1e6 * median(hook_s for hook_s, _ in runs)
        plain_ms = 1e3 * median(each["plain"] for each in rounds)
        agent, stacks = (_told([each[mode] / each["plain"] for each in rounds]) for mode in MODES[1:])
        more_us = 1e6 * median(each["agent"] - each["plain"] for each in rounds)
        lines.append(
            f"| {model} | {plain_ms:.2f} ms | {len(rounds)} | {agent} | {more_us:.0f} µs | {stacks} "
            f"| {hook_us:.1f} µs |"
        )
        print(lines[-1], flush=True)
    if arguments.write:
        write_section("What the agent costs", "\n".join(lines))


def _told(ratios: list[float]) -> str:
    low, middle, high = quantiles(ratios, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def _watched(sizes: tuple[int, int], steps: int, rounds: int) -> tuple[float, list[dict[str, float]]]:
    """What the agent says that it takes per step, and step times by mode of each round, in seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = RecordingWriter(Path(name) / "recording", [], None, {}).path
        child = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *map(str, sizes)],
            env=with_agent(os.environ, AgentOptions(recording=str(folder), allow_tracing=True)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        sampler = StackSampler(folder)
        try:
            sampler.start([(0, child.pid)])
            sampler.pause()
            found = list(_rounds(child, sampler, steps, rounds))
        finally:
            child.communicate()
            sampler.close()
        hook_s = read_recording(folder).ranks[0].hook_s
    assert hook_s is not None
    return hook_s, found


def _rounds(
    child: subprocess.Popen[str], sampler: StackSampler, steps: int, rounds: int
) -> Iterator[dict[str, float]]:
    """Step times by mode; the first round, in which everything is new, is left out."""
    assert child.stdin is not None
    assert child.stdout is not None
    for number in range(rounds + 1):
        found = {}
        for mode in (*MODES[number % len(MODES) :], *MODES[: number % len(MODES)]):
            if mode == "stacks":
                sampler.proceed()
            print(mode, steps, file=child.stdin, flush=True)
            found[mode] = float(child.stdout.readline())
            sampler.pause()
        if number:
            yield found


if __name__ == "__main__":
    main()
