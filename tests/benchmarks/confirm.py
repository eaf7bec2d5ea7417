"""Takes each cause away that can be taken away, and suspects that are none, and prints what came back.

Run with ``python -m tests.benchmarks.confirm`` (``make confirm``). The exit code is 1 where a removable cause
gave back too little of what it costs, or where a wrong suspect was confirmed. What was measured goes into
RESULTS.md, under a heading of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from ckpt_doctor import units
from ckpt_doctor.agent.treating import codes
from tests.benchmarks.cases import ProbeCase, cases, probe
from tests.benchmarks.results import write_section

LEAST_SHARE = 0.8
"""Part of what a removable cause costs that has to come back."""
WITHOUT_INDICES = frozenset(
    {"accelerate-tagger-replay", "hf-trainer-streaming-replay", "stateful-loader-replay"}
)
"""Replays of iterable data sets: there is nothing to skip in."""
WRONG = (
    ("image-classify-healthy", "HST401"),
    ("image-folder-healthy", "DAT203"),
    ("recommender-healthy", "CMP305"),
    ("stream-epochs-healthy", "DAT204"),
    ("tabular-mlp-healthy", "CMP306"),
    ("char-lstm-anomaly", "CMP309"),
    ("compiled-mixer-empty-cache", "DAT203"),
    ("gan-double-state", "DAT203"),
    ("hf-trainer-accumulate", "DAT203"),
    ("image-folder-drop-behind", "CMP314"),
    ("nanolm-longer-blocks", "CMP314"),
    ("recommender-float64-state", "DAT203"),
    ("recommender-left-overs", "CMP310"),
    ("stream-epochs-respawn", "DAT203"),
    ("tabular-mlp-old-groups", "CMP305"),
)
"""Cases, healthy ones first, and suspects that have nothing to do with them."""
WORDS = {True: "confirmed", False: "not confirmed", None: "open"}


@dataclass(frozen=True)
class Attempt:
    """One cause that is taken away from one script."""

    case: ProbeCase
    code: str

    @property
    def is_right(self) -> bool:
        """Whether it is what makes the script slower."""
        return self.code == self.case.cause

    @property
    def options(self) -> tuple[str, ...]:
        """How the probe is asked for it: a wrong suspect has to be named."""
        return ("--confirm",) if self.is_right else ("--suspect", self.code)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one probe said of it."""

    was_tested: bool = False
    """Whether the probe came to its end, and said anything of it at all."""
    confirmed: bool | None = None
    of_s: float | None = None
    recovered_s: float | None = None
    share: float | None = None
    low: float | None = None
    high: float | None = None
    is_lasting: bool = True
    why: str | None = None
    """Why there are no numbers, or what they leave open."""


Row = tuple[Attempt, list[Outcome]]


def removable() -> list[ProbeCase]:
    """The cases whose cause can be taken away, and costs time that can come back."""
    costly = [case for case in cases() if case.cause in codes() and case.cost is not None]
    return [case for case in costly if case.name not in WITHOUT_INDICES]


def attempts() -> list[Attempt]:
    """Every removable cause, and then the wrong suspects."""
    named = {case.name: case for case in cases()}
    right = [Attempt(case, case.cause) for case in removable() if case.cause is not None]
    return right + [Attempt(named[name], code) for name, code in WRONG]


def take_away(attempt: Attempt, folder: Path, data: Path) -> Outcome:
    """Probe the script in a new folder, with the cause taken away."""
    answer = probe(attempt.case, folder, data, attempt.options)
    if answer.status is None:
        return Outcome(why=f"exit {answer.exit_code}: {' '.join(answer.message.split())[:120]}")
    findings = json.loads((folder / "report.json").read_text("utf-8"))["findings"]
    tested = [f for f in findings if f["code"] == attempt.code and f["confirmation"] is not None]
    if not tested:
        return Outcome(why=f"not found; the answer was {answer.cause or answer.status}")
    told = tested[0]["confirmation"]
    interval = told["interval"] or {"low": None, "high": None}
    return Outcome(
        was_tested=True,
        confirmed=told["confirmed"],
        of_s=told["of_s"],
        recovered_s=told["recovered_s"],
        share=told["share_ratio"],
        low=interval["low"],
        high=interval["high"],
        is_lasting=tested[0]["shape"] != "one-time",
        why=told["why"],
    )


def main() -> int:
    """Take all of them away; the exit code is 1 where one did not do what it has to."""
    arguments = _arguments()
    chosen = [attempt for attempt in attempts() if _is_chosen(attempt, arguments)]
    for attempt in chosen:
        if attempt.case.missing:
            print(f"{attempt.case.name}: skipped, needs {', '.join(attempt.case.missing)}", flush=True)
    rows: list[Row] = [(attempt, []) for attempt in chosen if not attempt.case.missing]
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="confirm-") as top:
        for number in range(arguments.repeats):
            for attempt, outcomes in rows:
                outcomes.append(_take_away(attempt, Path(top), number, arguments.keep))
                print(_line(attempt, outcomes[-1]), flush=True)
            report = _report(rows, time.monotonic() - began_s)
            if arguments.write:
                write_section("Causes that were taken away", report)
    print(report)
    return 0 if all(_is_good(attempt, outcomes) for attempt, outcomes in rows) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the names of the cases, or codes")
    parser.add_argument("--write", action="store_true", help="write the outcome into RESULTS.md")
    parser.add_argument("--keep", type=Path, help="keep the recordings of what went wrong in this folder")
    return parser.parse_args()


def _is_chosen(attempt: Attempt, arguments: argparse.Namespace) -> bool:
    only = arguments.only
    return not only or any(part in attempt.case.name or part == attempt.code for part in only)


def _take_away(attempt: Attempt, top: Path, number: int, keep: Path | None) -> Outcome:
    """One attempt; its recordings are kept where that is wanted and it went wrong."""
    folder = top / f"{attempt.case.name}-{attempt.code}-{number}"
    try:
        outcome = take_away(attempt, folder, top / "data" / attempt.case.script)
    except (subprocess.SubprocessError, OSError) as error:
        outcome = Outcome(why=str(error))
    if keep is not None and not _is_good(attempt, [outcome]):
        shutil.copytree(folder, keep / folder.name, dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)
    return outcome


def _is_good(attempt: Attempt, outcomes: Sequence[Outcome]) -> bool:
    """Whether most came back (by the median of the repeats), or a wrong suspect was never confirmed."""
    if not attempt.is_right:
        return all(outcome.was_tested and not outcome.confirmed for outcome in outcomes)
    shares = [outcome.share for outcome in outcomes if outcome.share is not None]
    return len(shares) == len(outcomes) and median(shares) >= LEAST_SHARE


def _line(attempt: Attempt, outcome: Outcome) -> str:
    numbers = (_amount(outcome.of_s, outcome), _amount(outcome.recovered_s, outcome), _share(outcome))
    why = f": {outcome.why}" if outcome.why else ""
    told = f"{WORDS[outcome.confirmed]}{why}"
    return f"| {attempt.case.name} | {attempt.code} | {' | '.join(numbers)} | {told} |"


def _amount(value_s: float | None, outcome: Outcome) -> str:
    if value_s is None:
        return ""
    return units.per_step(value_s) if outcome.is_lasting else f"{units.seconds(value_s)} once"


def _share(outcome: Outcome) -> str:
    if outcome.share is None or outcome.low is None or outcome.high is None:
        return ""
    shown = [units.percent(value) for value in (outcome.share, outcome.low, outcome.high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})"


def _report(rows: Sequence[Row], spent_s: float) -> str:
    right, wrong = ([row for row in rows if row[0].is_right is is_right] for is_right in (True, False))
    given_back = sum(_is_good(attempt, outcomes) for attempt, outcomes in right)
    said = [outcome.confirmed for _, outcomes in wrong for outcome in outcomes if outcome.was_tested]
    least = units.percent(LEAST_SHARE)
    denied, open_, confirmed = (said.count(told) for told in (False, None, True))
    return "\n".join(
        [
            f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; "
            f"`python -m tests.benchmarks.confirm {' '.join(sys.argv[1:])}`, {spent_s / 60:.0f} min.",
            "",
            "| case | taken away | blamed for | came back | share (95 %) | told |",
            "|---|---|---|---|---|---|",
            *(_line(attempt, outcome) for attempt, outcomes in rows for outcome in outcomes),
            "",
            f"Removable causes, of {len(right)}: {given_back} gave back at least {least}.",
            f"Wrong suspects, of {sum(len(outcomes) for _, outcomes in wrong)}: {denied} not confirmed, "
            f"{open_} open, {confirmed} confirmed.",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
