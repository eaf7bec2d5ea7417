"""What a resume costs: the seek to a place in an epoch, and the first step of a compiled model.

Run with ``python -m tests.benchmarks.resume`` (part of ``make bench``). The exit code is 1 where a seek takes
longer at a later step, or where the kept compile cache saves less than it has to.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from torch.utils.data import DataLoader, TensorDataset

from ckpt_doctor.resume import ResumableRandomSampler, ResumableState, ResumeManager
from tests.benchmarks.results import write_section
from tests.resume.test_compile_cache import libraries
from tests.structure.source import ROOT

BATCH = 32
BATCHES = 12_500
STEPS = (0, 10, 10_000)
WORKERS = (0, 2)
SEEK_RATIO = 1.5
"""A late step over an early one: a replay would take hundreds of times as long, and medians vary by less."""
FIRST_STEP_RATIO = 0.5
"""First step with the kept cache over that without, at most."""
FRESH, RESUMED = "fresh", "resumed with the manager's cache"

Seeks = Mapping[tuple[int, int], Sequence[float]]
"""Seconds of all repeats, by number of workers and step."""
Compilations = Mapping[str, Sequence[dict[str, Any]]]
"""What each run of ``tests.resume.compiled`` told, by its kind."""


def main() -> int:
    """Measure, print, and write RESULTS.md with ``--write``; 1 where something does not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--compilations", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    seeks, compilations = _seeks(arguments.repeats), _compilations(arguments.compilations)
    broken = list(_broken(seeks, compilations))
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.resume {' '.join(sys.argv[1:])}`.",
        "",
        f"From putting the state back to the first batch, in an epoch of {BATCHES:,} batches of {BATCH}:",
        "",
        "| workers | at step | median of repeats (all) |",
        "|---|---|---|",
        *_seek_lines(seeks),
        "",
        "First step of a compiled model, in processes whose cache folders are empty:",
        "",
        "| | first step | libraries made by the C++ compiler | cache misses | cache hits |",
        "|---|---|---|---|---|",
        *_compile_lines(compilations),
        "",
        *(broken or ("The seek costs the same at each step, and the kept cache saves what it has to.",)),
    ]
    print("\n".join(lines))
    if arguments.write:
        write_section("What a resume costs", "\n".join(lines))
    return 1 if broken else 0


def _seeks(repeats: int) -> Seeks:
    """Steps take turns, so that what the machine does to one it does to the others."""
    times_s: dict[tuple[int, int], list[float]] = {(w, step): [] for w in WORKERS for step in STEPS}
    for _ in range(repeats):
        for workers, step in times_s:
            times_s[workers, step].append(_seek_s(workers, step))
    return times_s


def _seek_lines(seeks: Seeks) -> list[str]:
    return [
        f"| {workers} | {step:,} | {1e3 * median(each):.2f} ms "
        f"({', '.join(f'{1e3 * s:.2f}' for s in sorted(each))}) |"
        for (workers, step), each in seeks.items()
    ]


def _seek_s(workers: int, step: int) -> float:
    data = TensorDataset(torch.zeros(BATCHES * BATCH, 1))
    loader: DataLoader[tuple[torch.Tensor, ...]] = DataLoader(
        data, batch_size=BATCH, sampler=ResumableRandomSampler(data), num_workers=workers
    )
    manager = ResumeManager(ResumableState(loader=loader, flags=False))
    captured = manager.capture()
    captured["rank_0"]["samples_done"] = step * BATCH
    began_s = time.perf_counter()
    manager.restore(captured)
    next(manager.batches())
    return time.perf_counter() - began_s


def _compilations(repeats: int) -> Compilations:
    """A fresh run and one that is resumed from it, so many times."""
    runs: dict[str, list[dict[str, Any]]] = {FRESH: [], RESUMED: []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            for name, told in runs.items():
                told.append(_compile(Path(folder), name))
    return runs


def _compile_lines(runs: Compilations) -> list[str]:
    lines = []
    for name, told in runs.items():
        times_s = sorted(each["first_step_s"] for each in told)
        every = ", ".join(f"{s:.1f}" for s in times_s)
        last = told[-1]
        misses, hits = (_count(last, kind) for kind in ("misses", "hits"))
        lines.append(
            f"| {name} | {median(times_s):.1f} s ({every}) | {len(libraries(last))} | {misses} | {hits} |"
        )
    return lines


def _broken(seeks: Seeks, compilations: Compilations) -> Iterator[str]:
    """What does not hold, one sentence each."""
    _, early, late = STEPS
    for workers in WORKERS:
        ratio = median(seeks[workers, late]) / median(seeks[workers, early])
        if ratio > SEEK_RATIO:
            yield f"With {workers} workers step {late:,} is sought {ratio:.1f} times as long as step {early}."
    cold_s, warm_s = (median(told["first_step_s"] for told in runs) for runs in compilations.values())
    if warm_s > FIRST_STEP_RATIO * cold_s:
        yield f"With the kept cache the first step takes {warm_s:.1f} s, and {cold_s:.1f} s without."
    if not all(_count(told, "hits") and not _count(told, "misses") for told in compilations[RESUMED]):
        yield "The kept cache was missed."


def _count(told: Mapping[str, Any], kind: str) -> int:
    """Cache hits or misses."""
    return sum(told[kind].values())


def _compile(folder: Path, name: str) -> dict[str, Any]:
    scratch = folder / name.split()[0]
    scratch.mkdir()
    caches = {"TMPDIR": str(scratch), "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor")}
    command = [sys.executable, "-m", "tests.resume.compiled", str(folder / "run"), "2"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **caches}, check=True, capture_output=True, text=True
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


if __name__ == "__main__":
    sys.exit(main())
