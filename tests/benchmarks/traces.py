"""What it costs to read evidence that is no recording: whole processes of ``compare``, from start to end.

Run with ``python -m tests.benchmarks.traces``. The traces are one that torch.profiler makes here, repeated
until it has the wanted size; the event files are written by tensorboardX.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.inspect import LAUNCH
from tests.benchmarks.results import write_section

PROFILED = """
import sys, torch
from torch.profiler import ProfilerActivity, profile, schedule
model = torch.nn.Sequential(*(torch.nn.Linear(64, 64) for _ in range(12)))
optimizer = torch.optim.AdamW(model.parameters())
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=2, warmup=1, active=20, repeat=1),
             record_shapes=True, on_trace_ready=lambda p: p.export_chrome_trace(sys.argv[1])) as prof:
    for _ in range(23):
        optimizer.zero_grad()
        model(torch.rand(32, 64)).square().mean().backward()
        optimizer.step()
        prof.step()
"""
COMPARE = ("-m", "ckpt_doctor", "compare", "--inconclusive-ok", "--format", "json")
SIZES_BYTES = (10**7, 10**8, 10**9)
SCALARS = 200_000


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.traces {' '.join(sys.argv[1:])}`. One whole process each, files in the "
        "page cache.",
        "",
        "| evidence | size | time | peak of memory |",
        "|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-traces-") as folder:
        for what, path in _evidence(Path(folder)):
            time_s, peak_bytes = _cost(path)
            files = [f for f in (path, *path.rglob("*")) if f.is_file()]
            size = sum(file.stat().st_size for file in files)
            lines.append(f"| {what} | {size / 1e6:.0f} MB | {time_s:.1f} s | {peak_bytes / 1e6:.0f} MB |")
            print(lines[-1], flush=True)
    if arguments.write:
        write_section("What reading other evidence costs", "\n".join(lines))


def _evidence(folder: Path) -> Iterator[tuple[str, Path]]:
    """Files to read, each deleted before the next one is made."""
    small = folder / "small.json"
    subprocess.run([sys.executable, "-c", PROFILED, str(small)], check=True, capture_output=True)
    document = json.loads(small.read_text(encoding="utf-8"))
    for size_bytes in SIZES_BYTES:
        path = folder / "trace.json"
        steps = _repeat(document, path, size_bytes)
        yield f"Kineto trace, {steps} steps", path
        if size_bytes < max(SIZES_BYTES):
            packed = folder / "trace.json.gz"
            with path.open("rb") as plain, gzip.open(packed, "wb", compresslevel=6) as out:
                shutil.copyfileobj(plain, out)
            yield f"Kineto trace, {steps} steps, compressed", packed
            packed.unlink()
        path.unlink()
    yield f"TensorBoard folder, {SCALARS} scalars", _event_files(folder / "events")


def _repeat(document: dict[str, object], path: Path, size_bytes: int) -> int:
    """Write a trace again and again, each time later; returns the number of steps."""
    events = [e for e in _list(document["traceEvents"]) if isinstance(e, dict) and e.get("ph") == "X"]
    times = [float(str(e["ts"])) for e in events]
    span = max(times) - min(times) + 10_000.0
    marks = sum(str(e.get("name")).startswith("ProfilerStep") for e in events)
    written = copies = 0
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "record_shapes": 1, "traceEvents": [\n')
        while written < size_bytes:
            moved = ({**e, "ts": t + copies * span} for e, t in zip(events, times, strict=True))
            written += file.write((",\n" if copies else "") + ",\n".join(map(json.dumps, moved)))
            copies += 1
        file.write("\n]}\n")
    return copies * marks


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _event_files(folder: Path) -> Path:
    from tensorboardX import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        for k in range(SCALARS // 4):
            for tag in ("loss", "lr", "grad_norm", "accuracy"):
                writer.add_scalar(f"train/{tag}", 1.0, k, walltime=1.7e9 + k)
    return folder


def _cost(path: Path) -> tuple[float, int]:
    """Seconds and peak memory of ``compare`` on one path, which is read once.

    Raises:
        RuntimeError: It did not do its work.
    """
    command = [*COMPARE, "--before", str(path), "--after", str(path)]
    launched = [sys.executable, "-I", "-S", "-c", LAUNCH, sys.executable, *command]
    done = subprocess.run(launched, capture_output=True, text=True, check=True)
    time_s, code, peak = done.stdout.split()
    if code != "0":
        raise RuntimeError(f"{' '.join(command)} exited with {code}")
    return float(time_s), int(peak)


if __name__ == "__main__":
    main()
