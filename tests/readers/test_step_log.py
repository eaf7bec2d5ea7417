"""Rows of a log become runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers import step_log
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.step_log import RATE, Log, runs_of


def log_of(rows: Iterable[Mapping[str, float]], rates: Iterable[Mapping[str, float]] = ()) -> Log:
    """A log of some rows."""
    log = Log()
    told = list(rates)
    for index, row in enumerate(rows):
        log.add(row, told[index] if index < len(told) else {})
    return log


def run_of(log: Log) -> RunRecord:
    """The only run in a log."""
    (run,) = runs_of(log, "a.csv", "table")
    return run


def times_of(run: RunRecord) -> list[float]:
    """Step times of a run."""
    steps = run.ranks[0].steps
    return [steps.step_s(i) for i in range(len(steps))]


def test_a_clock() -> None:
    """A step takes the time between two rows over the steps between them."""
    run = run_of(log_of({"step": 10.0 * k, "time_s": 100 + 2.5 * k} for k in range(6)))
    assert times_of(run) == pytest.approx([0.25] * 5)
    assert run.ranks[0].steps.strides == (10,) * 5
    assert (run.meta.kind, run.meta.path) == ("table", "a.csv")
    assert not run.ranks[0].sees_start
    assert RECORDING in run.ranks[0].not_measured
    assert "parts" in run.ranks[0].not_measured


def test_an_irregular_clock() -> None:
    """Rows that come too soon are joined, so that the rows stand for about as many steps each."""
    steps = [0, 50, 100, 137, 150, 200, 250, 300]
    run = run_of(log_of({"step": float(s), "time_s": 0.5 + s / 100} for s in steps))
    assert run.ranks[0].steps.strides == (50, 50, 50, 50, 50, 50)
    assert times_of(run) == pytest.approx([0.01] * 6)


@given(
    gaps=st.lists(st.tuples(st.integers(1, 60), st.floats(0.01, 5)), min_size=4, max_size=60),
    start=st.floats(0, 1e9),
)
def test_no_time_is_lost(gaps: list[tuple[int, float]], start: float) -> None:
    """The rows follow one another without a gap, and each holds the time that the clock says."""
    step, time_s = 0, start
    rows = [{"step": 0.0, "time_s": start}]
    for steps, seconds in gaps:
        step, time_s = step + steps, time_s + seconds
        rows.append({"step": float(step), "time_s": time_s})
    runs = runs_of(log_of(rows), "x", "log")
    if all(row["time_s"] == int(row["time_s"]) for row in rows):
        return
    series = runs[0].ranks[0].steps
    assert series.t_start_s[0] == start
    assert series.t_start_s[1:] == series.t_end_s[:-1]
    assert sum(series.strides or (1,) * len(series)) <= step
    assert all(series.step_s(i) > 0 for i in range(len(series)))


def test_a_run_that_is_resumed_in_the_same_log() -> None:
    """Where the step number goes back a new run begins; where the clock does, too."""
    first = [{"step": float(k), "time_s": 1.5 * k} for k in range(10)]
    again = [{"step": 6.0 + k, "time_s": 100.25 + 3 * k} for k in range(10)]
    restarted = [{"step": 20.0 + k, "time_s": 0.25 + 2 * k} for k in range(10)]
    runs = runs_of(log_of([*first, *again, *restarted]), "x", "log")
    assert [times_of(run)[0] for run in runs] == pytest.approx([1.5, 3.0, 2.0])
    assert [len(run.ranks[0].steps) for run in runs] == [9, 9, 9]


def test_durations() -> None:
    """Without a clock each row's own duration is the time of a step; a speed is one, too."""
    run = run_of(log_of({"step": 50.0 * k, "step_s": 0.2} for k in range(6)))
    assert times_of(run) == pytest.approx([0.2] * 6)
    assert run.ranks[0].steps.strides is None
    assert times_of(run_of(log_of({"steps_per_s": 4.0} for _ in range(5)))) == pytest.approx([0.25] * 5)


def test_the_clock_wins() -> None:
    """A duration that leaves out half of the step gives way to the clock."""
    rows = [{"step": float(k), "time_s": 0.1 + 0.2 * k, "step_s": 0.1} for k in range(40)]
    assert times_of(run_of(log_of(rows))) == pytest.approx([0.2] * 39)


def test_a_coarse_clock() -> None:
    """A clock of whole seconds gives way to durations that agree with it, as it leaves too few rows."""
    rows = [{"step": float(k), "time_s": math.floor(0.3 * k), "step_s": 0.3} for k in range(100)]
    run = run_of(log_of(rows))
    assert len(run.ranks[0].steps) == 100
    assert times_of(run) == pytest.approx([0.3] * 100)
    alone = run_of(log_of({key: row[key] for key in ("step", "time_s")} for row in rows))
    assert len(alone.ranks[0].steps) == 2
    assert times_of(alone) == pytest.approx([0.3] * 2, rel=0.1)
    apart = run_of(log_of({**row, "step_s": 0.9} for row in rows))
    assert times_of(apart) == times_of(alone)


def test_parts() -> None:
    """Parts that every row names become parts of the step, with the rest; others are left out."""
    rows = [
        {"step": float(k), "time_s": 0.5 + 0.2 * k, "data_wait_s": 0.05, "forward_s": 0.06} for k in range(30)
    ]
    del rows[7]["forward_s"]
    run = run_of(log_of(rows))
    parts = run.ranks[0].steps.parts
    assert set(parts) == {"data_wait", "rest"}
    assert parts["data_wait"] == pytest.approx([0.05] * 29)
    assert parts["rest"] == pytest.approx([0.15] * 29)
    assert "parts" not in run.ranks[0].not_measured


def test_parts_that_do_not_fit() -> None:
    """Parts that take longer than the step overlap: they are left out, which is said."""
    run = run_of(log_of({"step_s": 0.1, "data_wait_s": 0.08, "forward_s": 0.08} for _ in range(30)))
    assert run.ranks[0].steps.parts == {}
    assert "longer than the step" in run.notes[0]


def test_work() -> None:
    """Batch sizes are kept beside the steps."""
    run = run_of(log_of({"step_s": 0.1, "samples": 32.0} for _ in range(5)))
    assert run.ranks[0].steps.counters["samples"] == (32.0,) * 5


def test_rates() -> None:
    """The log's own rates are kept, also one that stands only in the summary behind the last row."""
    rows = [{"step": float(k), "time_s": 0.25 * k} for k in range(5)]
    rows.append({"step": 4.0})
    log = log_of(rows, [{}] * 5 + [{"steps_per_second": 15.2, "tokens_per_second": 900.0}])
    log.step_rates.add("steps_per_second")
    events = list(run_of(log).ranks[0].events_of(RATE))
    assert [(event.step, event.fields) for event in events] == [
        (3, {"name": "steps_per_second", "per_s": 15.2, "steps": True}),
        (3, {"name": "tokens_per_second", "per_s": 900.0, "steps": False}),
    ]


def test_a_long_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than can be compared are joined; more than can be read are refused."""
    monkeypatch.setattr(step_log, "MAX_COMPARED_ROWS", 10)
    monkeypatch.setattr(step_log, "MAX_ROWS", 50)
    timed = run_of(log_of({"step": float(k), "time_s": 0.5 * k} for k in range(50))).ranks[0].steps
    told = run_of(log_of({"step_s": 0.5} for _ in range(50))).ranks[0].steps
    assert 5 <= len(timed) <= 10
    assert len(told) == 10
    assert [s.step_s(0) for s in (timed, told)] == [0.5, 0.5]
    with pytest.raises(Malformed, match="more than 50 rows"):
        log_of({"step_s": 0.5} for _ in range(51))


def test_nothing_that_tells_a_time() -> None:
    """Without a time there are no steps to compare."""
    with pytest.raises(Malformed, match="how long a step took"):
        runs_of(log_of([{"step": 1.0}]), "x", "log")
    assert runs_of(log_of([{"step": 1.0, "time_s": 2.0}]), "x", "log") == []
