"""Each finding has a line of the user's source, as near as it is known."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.facts.report import Location, Report, Side
from ckpt_doctor.report.wording.places import source_line
from tests.report.sample import (
    cold_cache,
    comparison,
    inspect_report,
    measured_report,
    order_lost,
    probe_report,
)


def with_command(*words: str) -> Report:
    """A report of runs of which no line is known, started by a command."""
    base = comparison()
    run = base.after.run
    changed = replace(run, meta=replace(run.meta, command=words))
    return probe_report(comparison=replace(base, after=replace(base.after, run=changed)))


def test_a_known_line_stays() -> None:
    """What the rule says is not replaced."""
    assert source_line(cold_cache(), measured_report()) == Location("train.py", 42)


def test_the_call_that_a_finding_is_about() -> None:
    """The DataLoader for data, save or load for state, the loop for all else."""
    report = measured_report()
    lines = {
        name: source_line(finding, report)
        for name, finding in (
            ("data", order_lost()),
            ("state", order_lost(checkpoint="runs/x/last.pt")),
            ("host", order_lost(side=Side.HOST)),
        )
    }
    assert lines == {
        "data": Location("/home/user/train.py", 40),
        "state": Location("/home/user/train.py", 50),
        "host": Location("/home/user/train.py", 44),
    }


def test_the_script_where_no_line_is_known() -> None:
    """Without any line it is the script's first, and nothing where there is no script."""
    assert source_line(order_lost(), with_command("python", "src/train.py", "--out", "x")) == Location(
        "/home/user/src/train.py", 1
    )
    assert source_line(order_lost(), with_command("python", "-m", "package.train")) is None
    assert source_line(order_lost(), inspect_report()) is None
