"""What a newcomer waits for: a clone, one command, the verdict, the page on its code, the report in HTML.

Run with ``python -m tests.benchmarks.first_use`` (``make first-use``). What is committed is cloned into an
empty folder, and the commands there are those of README.md. Most of the first one is pip, which sets up the
virtual environment from what it finds in its cache or in the registry.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.results import write_section
from tests.structure.source import ROOT

STAMP = Path(".venv", ".up-to-date")
PROGRAM = str(Path(".venv", "bin", "ckpt-doctor"))
FOUND = 1
"""The exit code of a command that found what it looked for."""
VERDICT = re.compile(r"^SLOWER .*?\bside\s·\s[\w-]+\s\(([A-Z]{3}\d{3})\)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Stage:
    """One thing that the newcomer does, and waits for."""

    what: str
    time_s: float
    seen: str
    """What there is to see at its end, in a few words."""


def main() -> None:
    """Walk the path, print each stage's time, and write RESULTS.md with ``--write``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
        f"`python -m tests.benchmarks.first_use {' '.join(sys.argv[1:])}`.",
        "",
        "| what is typed | time | what is seen |",
        "|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    total_s = 0.0
    with tempfile.TemporaryDirectory(prefix="bench-first-use-") as folder:
        for stage in _path(Path(folder) / "ckpt-doctor"):
            total_s += stage.time_s
            lines.append(f"| {stage.what} | {stage.time_s:.1f} s | {stage.seen} |")
            print(lines[-1], flush=True)
    lines.append(f"| all | {total_s:.0f} s | |")
    print(lines[-1], flush=True)
    if arguments.write:
        write_section("A newcomer's first minutes", "\n".join(lines))


def _path(clone: Path) -> Iterator[Stage]:
    """The stages one after the other; each uses what the one before it showed."""
    time_s, _ = _timed(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(clone)], clone.parent)
    yield Stage("`git clone`", time_s, "the repository")

    began_unix_s = time.time()
    time_s, printed = _timed(["make", "demo"], clone)
    setup_s = (clone / STAMP).stat().st_mtime - began_unix_s
    verdict = VERDICT.search(printed)
    if verdict is None:
        raise RuntimeError(f"make demo named no cause:\n{printed}")
    code = verdict[1]
    yield Stage("`make demo`, its set-up", setup_s, "a virtual environment")
    yield Stage("`make demo`, the probe", time_s - setup_s, f"`{' '.join(verdict[0].split())}`")

    time_s, page = _timed([PROGRAM, "explain", code], clone)
    if not page.startswith(code):
        raise RuntimeError(f"explain {code} printed something else:\n{page}")
    yield Stage(f"`ckpt-doctor explain {code}`", time_s, f"a page of {len(page.splitlines())} lines")

    time_s, _ = _timed([PROGRAM, "demo", "-o", "verdict.html"], clone, code=FOUND)
    html = (clone / "verdict.html").read_text(encoding="utf-8")
    if code not in html:
        raise RuntimeError(f"verdict.html does not name {code}")
    yield Stage("`ckpt-doctor demo -o verdict.html`", time_s, f"a page of {len(html) / 1e3:.0f} kB")


def _timed(command: Sequence[str], folder: Path, *, code: int = 0) -> tuple[float, str]:
    """Seconds that a command takes, and what it prints.

    Raises:
        RuntimeError: It exited with another code.
    """
    # A newcomer's make is nobody's child, and no virtual environment is active.
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "VIRTUAL_ENV")}
    began_s = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    time_s = time.perf_counter() - began_s
    if done.returncode != code:
        raise RuntimeError(f"{' '.join(command)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return time_s, done.stdout


if __name__ == "__main__":
    main()
