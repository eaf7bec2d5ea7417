"""What the agent and the stack sampler cost: the same process with and without them, in turns.

Run with ``python -m tests.benchmarks.overhead`` (part of ``make bench``). Two processes of identical code
differ by more than the agent costs, so each process trains with and without it in turns, and the shorter the
turns, the less the machine's moods are in the difference: the hooks are taken out and put back every 20
steps. In a third kind of turn their places are taken by functions that only pass on what they are called
with: what these cost, anything costs that is called in Python at these places.

What the agent does by the clock (looks at the kernel's counts, writing) falls on a third of the steps that it
would fall on otherwise, so the mean step shows up to three times of that. Stacks are held against the agent
without them, in turns of a third of a second, since their sampler has to be stopped. What the agent says of
itself is printed too.

Two kinds of model: one wide layer, which goes through much memory in every step and leaves nothing of the
agent's in the caches, and many small layers, as a script has that is held up by Python. Streamed data (a data
set that is iterated; one wide layer) have no indices: each batch is identified by what it holds.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median, stdev
from typing import NamedTuple

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.probe.arm import with_agent
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.probe.stacks import StackSampler
from ckpt_doctor.readers.recordings import read_recording
from tests.benchmarks.results import write_section

SCRIPT = """
import gc, statistics, sys, time, torch
from torch.optim import optimizer as optim
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

model_name, width, depth = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 64), torch.randint(0, 8, (4096,)))
widths = [64] + [width] * depth
layers = (layer for sizes in zip(widths, widths[1:]) for layer in (torch.nn.Linear(*sizes), torch.nn.ReLU()))
model = torch.nn.Sequential(*layers, torch.nn.Linear(width, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

class Stream(IterableDataset):
    def __iter__(self):
        return (data[index] for index in torch.randperm(len(data)).tolist())

def batches():
    while True:
        if model_name == "streamed data":
            yield from DataLoader(Stream(), batch_size=32)
        else:
            yield from DataLoader(data, batch_size=32, shuffle=True)

def train(feed, steps):
    ends = [time.perf_counter()]
    for _, (x, y) in zip(range(steps), feed):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        ends.append(time.perf_counter())
    return [end - start for start, end in zip(ends, ends[1:])]

train(batches(), 40)
# Whatever the agent has put in, to be taken out, emptied and put back between turns.
agent = next(each for each in gc.get_objects() if type(each).__name__ == "Agent")
wrapped = [(owner, name, getattr(owner, name), original) for owner, name, original in agent._wrapped]
places = (optim._global_optimizer_pre_hooks, optim._global_optimizer_post_hooks)
hooks = [(place, dict(place)) for place in places]
collected = list(gc.callbacks)
assert wrapped and all(own for _, own in hooks) and collected

def empty(original):
    def passes_on(*args, **kwargs):
        return original(*args, **kwargs)
    return passes_on

# Of what is wrapped twice, the innermost.
originals = {(id(owner), name): (owner, name, original) for owner, name, _, original in reversed(wrapped)}
empties = [(owner, name, empty(original), original) for owner, name, original in originals.values()]
instead = {"without": [], "empty": empties, "agent": wrapped}

def watch(mode):
    for owner, name, _, original in reversed(wrapped):
        setattr(owner, name, original)
    for owner, name, replacement, _ in instead[mode]:
        setattr(owner, name, replacement)
    for place, own in hooks:
        place.clear()
        if mode != "without":
            place.update(own if mode == "agent" else {key: lambda *args: None for key in own})
    gc.callbacks[:] = collected if mode == "agent" else []

def turns(steps):
    # Of each turn the first steps are left out: what was exchanged is looked up anew there.
    took = {mode: [] for mode in instead}
    modes = [*took]
    for number in range(max(1, steps // 60)):
        for mode in modes[number % 3:] + modes[:number % 3]:
            watch(mode)
            took[mode] += train(feed, 20)[3:]
    watch("agent")
    averages = statistics.median, statistics.fmean
    return [average(steps_s) for average in averages for steps_s in took.values()]

feed = batches()
for line in sys.stdin:
    mode, steps = line.split()
    print(*turns(int(steps)) if mode == "turns" else [statistics.median(train(feed, int(steps)))], flush=True)
"""

CASES = (
    ("one layer", 64, 1),
    ("one layer", 6000, 1),
    ("one layer", 20_000, 1),
    ("many layers", 64, 60),
    ("streamed data", 20_000, 1),
    ("one layer", 60_000, 1),
    ("streamed data", 60_000, 1),
    ("one layer", 160_000, 1),
)
"""What is watched, and width and depth of the model."""
PROCESSES = 3
ROUND_S, STACKS_S = 3.0, 0.3
"""What the turns of three kinds take in each round, and then those with and without stacks."""


class Round(NamedTuple):
    """Seconds per step."""

    plain_median_s: float
    empty_median_s: float
    agent_median_s: float
    plain_mean_s: float
    empty_mean_s: float
    agent_mean_s: float
    without_stacks_s: float
    with_stacks_s: float


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="of each process")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.overhead {' '.join(sys.argv[1:])}`. Blocks of one process in turns, "
        f"{PROCESSES} processes a row; means over the rounds (standard error).",
        "",
        "| model | step alone | rounds | median step with the agent | more | with empty functions, more "
        "| mean step with the agent | median step with stacks, over that without | hooks, median |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    for case in CASES:
        lines.append(_row(*case, arguments.rounds))
        print(lines[-1], flush=True)
    if arguments.write:
        write_section("What the agent costs", "\n".join(lines))


def _row(model: str, width: int, depth: int, rounds: int) -> str:
    runs = [_watched((model, width, depth), rounds) for _ in range(PROCESSES)]
    found = [each for _, run in runs for each in run]
    columns = (
        f"{1e3 * fmean(each.plain_median_s for each in found):.2f} ms",
        f"{len(found)}",
        _told([each.agent_median_s / each.plain_median_s for each in found], ".3f"),
        _told([1e6 * (each.agent_median_s - each.plain_median_s) for each in found], ".0f") + " µs",
        _told([1e6 * (each.empty_median_s - each.plain_median_s) for each in found], ".0f") + " µs",
        _told([each.agent_mean_s / each.plain_mean_s for each in found], ".3f"),
        _told([each.with_stacks_s / each.without_stacks_s for each in found], ".3f"),
        f"{1e6 * median(hook_s for hook_s, _ in runs):.1f} µs",
    )
    return f"| {model} | {' | '.join(columns)} |"


def _told(values: list[float], form: str) -> str:
    return f"{fmean(values):{form}} ({stdev(values) / math.sqrt(len(values)):{form}})"


def _watched(case: tuple[str, int, int], rounds: int) -> tuple[float, list[Round]]:
    """What the agent says that it takes per step, and the rounds."""
    with tempfile.TemporaryDirectory() as name:
        folder = RecordingWriter(Path(name) / "recording", [], None, {}).path
        child = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, *map(str, case)],
            env=with_agent(os.environ, AgentOptions(recording=str(folder), allow_tracing=True)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        sampler = StackSampler(folder)
        try:
            sampler.start([(0, child.pid)])
            sampler.pause()
            found = list(_rounds(child, sampler, rounds))
        finally:
            child.communicate()
            sampler.close()
        hook_s = read_recording(folder).ranks[0].hook_s
    assert hook_s is not None
    return hook_s, found


def _rounds(child: subprocess.Popen[str], sampler: StackSampler, rounds: int) -> Iterator[Round]:
    """Seconds per step; the first round, in which everything is new, only tells how many steps to take."""
    steps, some = 60, 20
    for number in range(rounds + 1):
        alone = _asked(child, "turns", steps)
        stacks = {}
        for on in (number % 2 == 0, number % 2 == 1):
            if on:
                sampler.proceed()
            (stacks[on],) = _asked(child, "block", some)
            sampler.pause()
        if number:
            yield Round(*alone, stacks[False], stacks[True])
        else:
            steps, some = (max(8, round(s / alone[0])) for s in (ROUND_S, STACKS_S))


def _asked(child: subprocess.Popen[str], mode: str, steps: int) -> list[float]:
    """Seconds per step that the process tells of so many steps."""
    assert child.stdin is not None
    assert child.stdout is not None
    print(mode, steps, file=child.stdin, flush=True)
    return [float(word) for word in child.stdout.readline().split()]


if __name__ == "__main__":
    main()
