"""Runs small training scripts under the agent, in processes of their own, and reads what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.facts.moments import KINDS, TAKE
from ckpt_doctor.facts.run import PARTS, Event, RankRecord, RunRecord, StepSeries
from ckpt_doctor.probe.arm import with_agent
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.readers.recordings import read_recording

TIMEOUT_S = 120.0

TRAIN = """
import argparse, random, sys
import torch
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, index):
        return torch.full((8,), float(index)) + torch.rand(8), torch.tensor([float(index)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--context")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--exit", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    loader = DataLoader(
        Numbers(), batch_size=4, shuffle=True, num_workers=args.workers, multiprocessing_context=args.context
    )
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.2), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    step = 0
    while step < args.steps:
        for x, y in loader:
            loss = ((model(x) - y) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(step, repr(loss.item()))
            step += 1
            if step == args.steps:
                break
    print(random.random(), torch.rand(1).item())
    sys.exit(args.exit)


if __name__ == "__main__":
    main()
"""
"""A usual loop: a shuffled loader of 24 samples in batches of 4, dropout, Adam; it prints each loss."""

MODEL = """
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""
"""The smallest thing that trains; ``step()`` takes one step."""


@dataclass(frozen=True)
class Recorded:
    """A script that has run under the agent."""

    folder: Path
    process: subprocess.CompletedProcess[str]
    number: int = 0
    """Its rank in the recording."""

    @cached_property
    def run(self) -> RunRecord:
        """The recording."""
        return read_recording(self.folder)

    @property
    def rank(self) -> RankRecord:
        """Its training process."""
        (rank,) = (rank for rank in self.run.ranks if rank.rank == self.number)
        return rank

    @property
    def steps(self) -> StepSeries:
        """The steps of its training process."""
        return self.rank.steps

    def counts(self, name: str) -> list[float | None]:
        """A counter, step by step."""
        return list(self.steps.counters.get(name, ()))

    def events(self, signal: str) -> list[Event]:
        """The events of one signal."""
        return list(self.rank.events_of(signal))

    def part_s(self, part: str) -> float:
        """Seconds of a part in all steps."""
        return sum(self.steps.parts[part])


class Server:
    """A process that has imported torch under the agent, and forks a rank of its own for each script.

    Importing torch takes seconds; a forked process is measured like any other, since ranks may be
    started in this way.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0
        RecordingWriter(folder / "recording", ["server"], None, {})
        options = AgentOptions(str(folder / "recording"))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _SERVER],
            env=with_agent(environment(), options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, source: str) -> Recorded:
        """Run a script to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        number, self._count = self._count, self._count + 1
        folder = self._folder / str(number)
        folder.mkdir()
        (folder / "train.py").write_text(source)
        self._process.stdin.write(f"{number} {folder}\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        out, errors = (folder / "stdout").read_text(), (folder / "stderr").read_text()
        process = subprocess.CompletedProcess("train.py", code, out, errors)
        return Recorded(self._folder / "recording", process, number)

    def close(self) -> None:
        """End the server."""
        self._process.communicate()


_SERVER = """
import atexit, gc, os, sys, traceback
import torch
import torch._dynamo, torch.utils.data, torch.distributed.checkpoint

def run(number, folder):
    os.environ["RANK"] = number
    os.chdir(folder)
    for descriptor, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), descriptor)
    sys.argv = ["train.py"]
    sys.stdin = open(0)
    with open("train.py") as file:
        code = compile(file.read(), os.path.join(folder, "train.py"), "exec")
    try:
        exec(code, {"__name__": "__main__"})
        status = 0
    except SystemExit as error:
        status = error.code or 0
    except BaseException:
        traceback.print_exc()
        status = 1
    # Taking the interpreter apart would take a second.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

torch._dynamo.disable(run)
gc.freeze()
while line := sys.stdin.readline():
    child = os.fork()
    if child == 0:
        run(*line.split())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def environment(**extra: str) -> dict[str, str]:
    """The environment of scripts in tests: one thread."""
    return {**os.environ, "OMP_NUM_THREADS": "1", **extra}


def run_alone(folder: Path, *command: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command line in a folder, without the agent."""
    return _run(folder, [sys.executable, *command], environment(**extra))


def run_inside(
    folder: Path, *command: str, options: AgentOptions, **extra: str
) -> subprocess.CompletedProcess[str]:
    """Run a Python command line in a folder with the agent inside, but nothing around it."""
    Path(options.recording).mkdir(parents=True, exist_ok=True)
    return _run(folder, [sys.executable, *command], with_agent(environment(**extra), options))


def record_command(
    folder: Path, recording: Path, command: list[str], extra: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run ``ckpt-doctor record`` in a folder."""
    ours = [sys.executable, "-m", "ckpt_doctor", "record", "-o", str(recording), "--"]
    return _run(folder, [*ours, *command], environment(**extra))


def check_parts(steps: StepSeries) -> None:
    """Check that the parts of each step are exclusive: they add up to the step, and none is negative."""
    for index in range(len(steps)):
        parts = [steps.parts[part][index] for part in PARTS]
        whole = steps.step_s(index)
        assert min(parts) >= 0
        # Each part is written down to 0.1 µs.
        assert abs(sum(parts) - whole) <= 1e-4 * whole + 1e-6, f"step {index}: {sum(parts)} of {whole}"


def _run(folder: Path, command: list[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=dict(env), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )


def write_journal(path: Path, lines: Sequence[object]) -> Path:
    """Write lines as an agent does."""
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    return path


def ended(t_s: float) -> list[object]:
    """An agent's line of a step that ended at a moment."""
    return ["m", [[round(t_s * 1e9)] if what == TAKE else [] for what in range(KINDS)], []]
