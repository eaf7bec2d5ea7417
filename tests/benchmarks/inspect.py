"""What a look into a checkpoint costs, against what else reads checkpoints: whole processes, in turns.

Run with ``python -m tests.benchmarks.inspect`` (part of ``make bench``). Each row is a number of pairs,
ours and another reader's one after the other, from the start of the interpreter to its end. The large
files are sparse: their tensors take no room on the disk, so that whoever reads them has no disk to wait for.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import ckpt_doctor
from tests.benchmarks.results import write_section

INSPECT = ("-m", "ckpt_doctor", "inspect", "--format", "json")
INSPECT_TEXT = ("-m", "ckpt_doctor", "inspect")
BARE = ("-c", "pass")
MAPPED = ("-c", "import sys, torch; torch.load(sys.argv[1], mmap=True)")
LOADED = ("-c", "import sys, torch; torch.load(sys.argv[1])")
PICKLESCAN = ("-m", "picklescan.cli", "-p")
SAFETENSORS = (
    "-c",
    "import sys; from safetensors import safe_open\n"
    "with safe_open(sys.argv[1], 'np') as file: [file.get_slice(key).get_shape() for key in file.keys()]",
)

LAUNCH = """
import os, sys, time
silent = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
began_s = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - began_s, os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)
"""
"""Starts and times a process. Linux counts towards its peak what its parent held when it began (the peak
survives the exec), so the parent is the smallest interpreter that there is."""

MAKE = """
import sys, torch
from torch.serialization import skip_data
path, layers, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
shapes = {f"layers.{i}.weight": (width, width) for i in range(layers)}
names = list(shapes)
def tensors():
    return {name: torch.empty(shape) for name, shape in shapes.items()}
moments = {i: {"step": torch.tensor(9.0), "exp_avg": torch.empty(shapes[n]),
               "exp_avg_sq": torch.empty(shapes[n])} for i, n in enumerate(names)}
group = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01, "amsgrad": False,
         "foreach": None, "maximize": False, "capturable": False, "differentiable": False, "fused": None,
         "params": list(range(layers))}
optimizer = {"state": moments, "param_groups": [group]}
state = {"model": tensors(), "optimizer": optimizer, "epoch": 3, "step": 9000}
with skip_data():
    torch.save(state, path)
"""
MAKE_MANY = """
import sys, torch
entries = int(sys.argv[2])
torch.save({"model": {f"layers.{i}.weight": torch.zeros(8) for i in range(entries)}, "step": 1}, sys.argv[1])
"""


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    time_s: float
    peak_bytes: int


@dataclass(frozen=True)
class Row:
    """Pairs of processes on one checkpoint."""

    what: str
    against: str
    ours: tuple[Cost, ...]
    other: tuple[Cost, ...]

    @property
    def ratio(self) -> float:
        """How many times longer the other one takes: the median over the pairs."""
        return median(b.time_s / a.time_s for a, b in zip(self.ours, self.other, strict=True))

    def line(self) -> str:
        """The row of the table."""
        ours_s, other_s = (median(cost.time_s for cost in side) for side in (self.ours, self.other))
        ours_mb, other_mb = (max(cost.peak_bytes for cost in side) / 1e6 for side in (self.ours, self.other))
        return (
            f"| {self.what} | {self.against} | {len(self.ours)} "
            f"| {1e3 * ours_s:.0f} ms | {1e3 * other_s:.0f} ms "
            f"| {self.ratio:.1f} | {ours_mb:.0f} MB | {other_mb:.0f} MB |"
        )


def main() -> None:
    """Measure, print, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    # As pip does it for an installed package: no reader compiles its own source in each process.
    compileall.compile_dir(str(Path(ckpt_doctor.__file__).parent), quiet=1)
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.inspect {' '.join(sys.argv[1:])}`. Whole processes, files in the page "
        "cache, `--format json` where nothing else is said; the large files are sparse.",
        "",
        "| checkpoint | against | pairs | ours | other | other over ours | our peak | other's peak |",
        "|---|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-inspect-") as folder:
        for row in _rows(Path(folder), arguments.pairs):
            lines.append(row.line())
            print(lines[-1], flush=True)
    if arguments.write:
        write_section("What a look into a checkpoint costs", "\n".join(lines))


def _rows(folder: Path, pairs: int) -> Iterator[Row]:
    for layers, width in ((13, 256), (16, 2048), (16, 4096)):
        path = _made(folder / "model.pt", MAKE, str(layers), str(width))
        yield _row("torch zip", path, "torch.load(mmap=True)", MAPPED, pairs)
        yield _row("torch zip, as text", path, "torch.load(mmap=True)", MAPPED, pairs, INSPECT_TEXT)
        yield _row("torch zip", path, "a bare interpreter", BARE, pairs)
        yield _row("torch zip, as text", path, "a bare interpreter", BARE, pairs, INSPECT_TEXT)
        if width < 4096:
            yield _row("torch zip", path, "torch.load", LOADED, max(1, pairs // 2))
        else:
            yield _row("torch zip", path, "picklescan", PICKLESCAN, pairs)
        path.unlink()
    many = _made(folder / "many.pt", MAKE_MANY, "40000")
    yield _row("torch zip, 40 000 entries", many, "picklescan", PICKLESCAN, pairs)
    yield _row("torch zip, 40 000 entries", many, "torch.load(mmap=True)", MAPPED, pairs)
    many.unlink()
    tensors = folder / "large.safetensors"
    _make_safetensors(tensors, entries=400, width=1024)
    yield _row("safetensors, 400 entries", tensors, "safetensors.safe_open, shapes", SAFETENSORS, pairs)
    _make_safetensors(tensors, entries=40_000, width=64)
    yield _row("safetensors, 40 000 entries", tensors, "safetensors.safe_open, shapes", SAFETENSORS, pairs)


def _made(path: Path, script: str, *arguments: str) -> Path:
    subprocess.run([sys.executable, "-c", script, str(path), *arguments], check=True)
    return path


def _make_safetensors(path: Path, *, entries: int, width: int) -> None:
    """Write a sparse file as the library would: the length of the header, the header, the tensors."""
    each = 4 * width * width
    header = {
        f"layers.{i}.weight": {
            "dtype": "F32",
            "shape": [width, width],
            "data_offsets": [i * each, (i + 1) * each],
        }
        for i in range(entries)
    }
    text = json.dumps(header, separators=(",", ":")).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + entries * each)


def _row(
    what: str,
    path: Path,
    against: str,
    command: Sequence[str],
    pairs: int,
    ours: Sequence[str] = INSPECT,
) -> Row:
    for warm in (ours, command):
        _cost(warm, path)
    costs = [(_cost(ours, path), _cost(command, path)) for _ in range(pairs)]
    size_mb = path.stat().st_size / 1e6
    size = f"{size_mb / 1e3:.1f} GB" if size_mb >= 1e3 else f"{size_mb:.0f} MB"
    return Row(f"{what}, {size}", against, tuple(a for a, _ in costs), tuple(b for _, b in costs))


def _cost(command: Sequence[str], path: Path) -> Cost:
    """Time and peak memory of a process, from its start to its end.

    Raises:
        RuntimeError: It did not do its work.
    """
    launched = [sys.executable, "-I", "-S", "-c", LAUNCH, sys.executable, *command, str(path)]
    result = subprocess.run(launched, capture_output=True, text=True, check=True)
    time_s, code, peak_bytes = result.stdout.split()
    if code not in ("0", "1"):
        raise RuntimeError(f"{' '.join(command)} exited with {code}")
    return Cost(float(time_s), int(peak_bytes))


if __name__ == "__main__":
    main()
