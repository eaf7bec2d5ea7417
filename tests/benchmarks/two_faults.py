"""Probes scripts with two faults at once, and each fault alone, and compares what each costs.

Run with ``python -m tests.benchmarks.two_faults`` (``make two-faults``). The exit code is 1 where one of two
faults is not found, or where its cost beside the other one is too far from its cost alone. Costs are in steps
of each probe's own control, since the machine's pace changes from probe to probe, and medians of several
probes are compared, since two processes of identical code differ by some per cent.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from ckpt_doctor import units
from tests.benchmarks.cases import ProbeCase, cases, probe
from tests.benchmarks.results import write_section

FAULT = "--fault"
MOST_APART = 0.2
"""Part of what a fault costs alone that its cost beside another one may be off."""


@dataclass(frozen=True)
class Two:
    """Two cases of one script whose faults go together."""

    first: str
    second: str
    settings: tuple[str, ...] = ()
    """Arguments that take the place of those of the same name."""


EVERY = (
    Two("nanolm-drop-pages", "nanolm-recompute"),
    # Of a small file less is read in each step than a step computes.
    Two("nanolm-double", "nanolm-drop-pages", ("--dataset_tokens=4000000",)),
    Two("gan-double-state", "gan-collect"),
)
"""Data and compute, both ways round in size; two causes on the same side of the budget."""


@dataclass(frozen=True)
class Costs:
    """What the probes of one script said; None where a fault was not among the findings."""

    alone_ratio: tuple[float | None, float | None]
    """What each fault costs per step alone, over the control's step."""
    together_ratio: tuple[float | None, float | None]
    """What each costs beside the other one."""


def alike(two: Two) -> tuple[ProbeCase, ProbeCase, ProbeCase]:
    """The cases of the first fault, of the second, and of both, with the settings of either in all three."""
    named = {case.name: case for case in cases()}
    first, second = named[two.first], named[two.second]
    every = (*first.arguments, *second.arguments, *two.settings)
    given = {name: value for name, _, value in (each.partition("=") for each in every) if name != FAULT}

    def with_fault(case: ProbeCase, fault: str) -> ProbeCase:
        return replace(
            case, arguments=tuple(f"{name}={value}" for name, value in {**given, FAULT: fault}.items())
        )

    assert first.fault is not None
    assert second.fault is not None
    both = replace(first, name=f"{first.name}+{second.fault}")
    return (
        with_fault(first, first.fault),
        with_fault(second, second.fault),
        with_fault(both, f"{first.fault}+{second.fault}"),
    )


def main() -> int:
    """Probe them all; the exit code is 1 where a cost is missing or too far off."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write the outcome into RESULTS.md")
    arguments = parser.parse_args()
    began_s = time.monotonic()
    rows: list[tuple[ProbeCase, ProbeCase, list[Costs]]] = []
    with tempfile.TemporaryDirectory(prefix="two-faults-") as top:
        for two in EVERY:
            first, second, both = alike(two)
            costs = [_costs(first, second, both, Path(top)) for _ in range(arguments.repeats)]
            rows.append((first, second, costs))
            print("\n".join(_lines(*rows[-1])), flush=True)
    lines = [line for row in rows for line in _lines(*row)]
    head = (
        f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores; `python -m tests.benchmarks.two_faults "
        f"{' '.join(sys.argv[1:])}`, {(time.monotonic() - began_s) / 60:.0f} min. Medians of "
        f"{arguments.repeats} probes each."
    )
    table = ["| script | fault | alone | beside the other | off by |", "|---|---|---|---|---|", *lines]
    if arguments.write:
        write_section("Two faults at once", "\n".join([head, "", *table]))
    off = [_off(costs, which) for _, _, costs in rows for which in (0, 1)]
    return 0 if all(each is not None and each <= MOST_APART for each in off) else 1


def _costs(first: ProbeCase, second: ProbeCase, both: ProbeCase, top: Path) -> Costs:
    alone = [_told(case, (case.cause,), top)[0] for case in (first, second)]
    together = _told(both, (first.cause, second.cause), top)
    return Costs((alone[0], alone[1]), (together[0], together[1]))


def _told(case: ProbeCase, codes: Sequence[str | None], top: Path) -> list[float | None]:
    """What each of these findings costs per step by a probe of the case, over the control's step."""
    folder = top / case.name
    answer = probe(case, folder, top / "data" / case.script)
    costs: dict[str, float] = {}
    if answer.status is not None:
        report = json.loads((folder / "report.json").read_text("utf-8"))
        step_s = report["verdict"]["before_step_s"]
        costs = {f["code"]: f["delta_s"] / step_s for f in report["findings"] if f["share_ratio"] is not None}
    shutil.rmtree(folder)
    return [costs.get(code or "") for code in codes]


def _off(costs: Sequence[Costs], which: int) -> float | None:
    """How far the cost beside the other fault is from the cost alone, as a part of that."""
    alone, together = _medians(costs, which)
    return None if alone is None or together is None else abs(together / alone - 1.0)


def _medians(costs: Sequence[Costs], which: int) -> tuple[float | None, float | None]:
    """What a fault costs alone and beside the other one; None where one of the probes did not find it."""
    alone = [each.alone_ratio[which] for each in costs]
    together = [each.together_ratio[which] for each in costs]
    return _median(alone), _median(together)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if len(known) == len(values) else None


def _lines(first: ProbeCase, second: ProbeCase, costs: Sequence[Costs]) -> list[str]:
    lines = []
    for which, case in enumerate((first, second)):
        alone, together = _medians(costs, which)
        off = _off(costs, which)
        cells = [_amount(alone), _amount(together), "" if off is None else units.percent(off)]
        lines.append(f"| {case.script} | {case.fault} ({case.cause}) | {' | '.join(cells)} |")
    return lines


def _amount(ratio: float | None) -> str:
    return "not found" if ratio is None else f"{ratio:.2f} steps"


if __name__ == "__main__":
    sys.exit(main())
