"""Probes every script of fixtures/scripts several times, and prints the confusion matrix.

Run with ``python -m tests.benchmarks.matrix`` (``make matrix``). With ``--hog`` one busy process a core
runs beside it, with ``--disk-hog`` one that writes and reads the disk. What was measured goes into
RESULTS.md, under a heading of its own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.cases import Answer, ProbeCase, cases, probe
from tests.benchmarks.hogs import hogs
from tests.benchmarks.results import write_section

Row = tuple[ProbeCase, list[Answer]]


def main() -> int:
    """Run the matrix; the exit code is 1 where an answer was wrong."""
    arguments = _arguments()
    chosen = [case for case in cases() if _chosen(case, arguments)]
    for case in chosen:
        if case.missing:
            print(f"{case.name}: skipped, needs {', '.join(case.missing)}", flush=True)
    rows: list[Row] = [(case, []) for case in chosen if not case.missing]
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="matrix-") as top, hogs(arguments.hog, _disk_hog(top, arguments)):
        for number in range(arguments.repeats):
            for case, answers in rows:
                answers.append(_probe(case, Path(top), number, arguments.keep))
                print(_line(case, answers[-1:]), flush=True)
            report = _report(rows, arguments, time.monotonic() - began_s)
            if arguments.write:
                write_section(_title(arguments), report)
    print(report)
    answered = [(case, answer) for case, answers in rows for answer in answers]
    return 0 if all(a.is_right(case) or _forgiven(case, a, arguments) for case, a in answered) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--hog", action="store_true", help="one busy process a core beside the probes")
    parser.add_argument("--disk-hog", action="store_true", help="one that writes and reads the disk")
    parser.add_argument("--healthy", action="store_true", help="healthy scripts only")
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of the cases to run")
    parser.add_argument("--write", action="store_true", help="write the outcome into RESULTS.md")
    parser.add_argument("--keep", type=Path, help="keep the recordings of wrong answers in this folder")
    return parser.parse_args()


def _disk_hog(top: str, arguments: argparse.Namespace) -> Path | None:
    """The file that the process writes and reads; None without one."""
    return Path(top) / "hog" if arguments.disk_hog else None


def _chosen(case: ProbeCase, arguments: argparse.Namespace) -> bool:
    if arguments.healthy and case.fault is not None:
        return False
    return not arguments.only or any(part in case.name for part in arguments.only)


def _probe(case: ProbeCase, top: Path, number: int, keep: Path | None) -> Answer:
    """One probe; the recordings of a wrong answer are kept where that is wanted."""
    folder = top / f"{case.name}-{number}"
    try:
        answer = probe(case, folder, top / "data" / case.script)
    except (subprocess.SubprocessError, OSError) as error:
        answer = Answer(-1, None, None, None, None, None, None, str(error))
    if keep is not None and not answer.is_right(case):
        shutil.copytree(folder, keep / folder.name, dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return answer


def _forgiven(case: ProbeCase, answer: Answer, arguments: argparse.Namespace) -> bool:
    """Whether doubt is right: on a busy machine a healthy script may be inconclusive."""
    return bool(arguments.hog or arguments.disk_hog) and case.cause is None and answer.exit_code == 3


def _line(case: ProbeCase, answers: Sequence[Answer]) -> str:
    told = ", ".join(_told(answer) for answer in answers)
    right = sum(answer.is_right(case) for answer in answers)
    return f"| {case.name} | {case.cause or 'healthy'} | {told} | {right}/{len(answers)} |"


def _told(answer: Answer) -> str:
    if answer.status is None:
        return f"exit {answer.exit_code}: {answer.message.splitlines()[0][:120] if answer.message else ''}"
    interval = "" if answer.ratio is None else f" {answer.ratio:.2f} ({answer.low:.2f}-{answer.high:.2f})"
    return f"{answer.cause or answer.status}{interval}"


def _report(rows: Sequence[Row], arguments: argparse.Namespace, spent_s: float) -> str:
    every = [(case, answer) for case, answers in rows for answer in answers]
    faulty = [(case, answer) for case, answer in every if case.cause]
    healthy = [answer for case, answer in every if not case.cause]
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, "
        f"{_beside(arguments)} beside the probes; "
        f"`python -m tests.benchmarks.matrix {' '.join(sys.argv[1:])}`, {spent_s / 60:.0f} min.",
        "",
        "| case | expected | told, ratio of step times (95 %) | right |",
        "|---|---|---|---|",
        *(_line(case, answers) for case, answers in rows),
        "",
    ]
    if faulty:
        first = sum(answer.is_right(case) for case, answer in faulty)
        side = sum(answer.has_right_side(case) for case, answer in faulty)
        lines.append(
            f"Faulty: right first cause {first} of {len(faulty)}, right side {side} of {len(faulty)}."
        )
    if healthy:
        codes = Counter(answer.exit_code for answer in healthy)
        told = ", ".join(f"exit {code}: {count}" for code, count in sorted(codes.items()))
        lines.append(f"Healthy: {told}, of {len(healthy)}.")
    lines += ["", *_matrix(every)]
    return "\n".join(lines)


def _matrix(every: Sequence[tuple[ProbeCase, Answer]]) -> list[str]:
    """Expected first cause down, what was told across."""
    told = [(case.cause or "healthy", answer.cause or answer.status or "error") for case, answer in every]
    counts = Counter(told)
    rows = sorted({expected for expected, _ in told})
    columns = sorted({answer for _, answer in told})
    lines = [f"| expected | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        cells = " | ".join(str(counts[(row, column)] or "") for column in columns)
        lines.append(f"| {row} | {cells} |")
    return lines


def _title(arguments: argparse.Namespace) -> str:
    what = "Healthy scripts (A/A)" if arguments.healthy else "Confusion matrix"
    hogged = "hogged" if arguments.hog else "quiet"
    return f"{what}, {hogged}{', disk hogged' if arguments.disk_hog else ''}"


def _beside(arguments: argparse.Namespace) -> str:
    busy = ["one busy process a core"] if arguments.hog else []
    busy += ["one that writes and reads the disk"] if arguments.disk_hog else []
    return " and ".join(busy) or "no hog"


if __name__ == "__main__":
    sys.exit(main())
