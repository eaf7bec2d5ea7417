"""What a resume costs: the seek to a place in an epoch, and the first step of a compiled model.

Run with ``python -m tests.benchmarks.resume`` (part of ``make bench``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

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


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--compilations", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.resume {' '.join(sys.argv[1:])}`.",
        "",
        f"From putting the state back to the first batch, in an epoch of {BATCHES:,} batches of {BATCH}:",
        "",
        "| workers | at step | median of repeats (all) |",
        "|---|---|---|",
        *_seek_lines(arguments.repeats),
        "",
        "First step of a compiled model, in processes whose cache folders are empty:",
        "",
        "| | first step | libraries made by the C++ compiler | cache misses | cache hits |",
        "|---|---|---|---|---|",
        *_compile_lines(arguments.compilations),
    ]
    print("\n".join(lines))
    if arguments.write:
        write_section("What a resume costs", "\n".join(lines))


def _seek_lines(repeats: int) -> list[str]:
    """Steps take turns, so that what the machine does to one it does to the others."""
    times_s: dict[tuple[int, int], list[float]] = {(w, step): [] for w in WORKERS for step in STEPS}
    for _ in range(repeats):
        for workers, step in times_s:
            times_s[workers, step].append(_seek_s(workers, step))
    return [
        f"| {workers} | {step:,} | {1e3 * median(each):.2f} ms "
        f"({', '.join(f'{1e3 * s:.2f}' for s in sorted(each))}) |"
        for (workers, step), each in times_s.items()
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


def _compile_lines(repeats: int) -> list[str]:
    runs: dict[str, list[dict[str, object]]] = {"fresh": [], "resumed with the manager's cache": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            for name, told in runs.items():
                told.append(_compile(Path(folder), name))
    lines = []
    for name, told in runs.items():
        times_s = sorted(float(str(each["first_step_s"])) for each in told)
        every = ", ".join(f"{s:.1f}" for s in times_s)
        last = told[-1]
        hits, misses = ({k: v for k, v in dict(last[kind]).items() if v} for kind in ("hits", "misses"))  # type: ignore[call-overload]
        lines.append(
            f"| {name} | {median(times_s):.1f} s ({every}) | {len(libraries(last))} "
            f"| {sum(misses.values())} | {sum(hits.values())} |"
        )
    return lines


def _compile(folder: Path, name: str) -> dict[str, object]:
    scratch = folder / name.split()[0]
    scratch.mkdir()
    caches = {"TMPDIR": str(scratch), "TORCHINDUCTOR_CACHE_DIR": str(scratch / "inductor")}
    command = [sys.executable, "-m", "tests.resume.compiled", str(folder / "run"), "2"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **caches}, check=True, capture_output=True, text=True
    )
    told: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return told


if __name__ == "__main__":
    main()
