"""DAT206: heavier workers, heavier snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Confidence, Side
from ckpt_doctor.facts.run import Event
from tests.builders import control, event, make_case, one, resumed

MB = 10**6
SLOW: dict[str, Any] = {"parts": {"data_wait": 0.009}}


def _start(step: int, seconds: float, size: int) -> list[Event]:
    return [
        event("worker_payload", step, seconds / 2, bytes=size),
        event("worker_start", step, seconds),
        event("first_batch", step, seconds / 10, workers=2),
    ]


def test_a_checkpoint_in_the_data_set_of_spawned_workers_costs_a_start() -> None:
    """Each of the workers is sent 2 GB where it was 1 MB: ten seconds until the first batch."""
    case = make_case(control(events=_start(0, 3.0, MB)), resumed(events=_start(0, 13.0, 2000 * MB)))
    findings, _ = judge(case)
    found = one(findings, "DAT206")
    assert (found.shape, found.side) == (Shape.ONE_TIME, Side.DATA)
    assert found.delta_s == pytest.approx(11.0, abs=0.1)
    assert decide(case, findings).cause == "DAT206"


def test_starts_within_the_window_cost_per_step() -> None:
    """Workers of every epoch are sent the payload anew, in both runs: only its size differs."""
    before = [e for step in (0, *range(70, 260, 20)) for e in _start(step, 0.02, MB)]
    after = [e for step in (0, *range(10, 200, 20)) for e in _start(step, 0.18, 50 * MB)]
    case = make_case(control(events=before), resumed(0.018, events=after, **SLOW))
    findings, _ = judge(case)
    found = one(findings, "DAT206")
    assert found.shape is Shape.PERIODIC
    assert found.share_ratio == pytest.approx(1.0, abs=0.2)
    assert "DAT204" not in {f.code for f in findings}


def test_slow_starts_with_the_same_payload_are_something_else() -> None:
    """A busy machine starts processes slowly."""
    case = make_case(control(events=_start(0, 3.0, MB)), resumed(events=_start(0, 13.0, MB)))
    assert "DAT206" not in {f.code for f in judge(case)[0]}


def test_forked_workers_show_it_by_their_memory() -> None:
    """Nothing is pickled; each worker is 3 GB large where it was 1 GB."""
    small, large = (
        {"memory.children": 2, "memory.children_rss_bytes": 2 * size} for size in (1000 * MB, 3000 * MB)
    )
    starts = [[event("worker_start", 0, seconds)] for seconds in (0.2, 4.0)]
    case = make_case(control(values=small, events=starts[0]), resumed(values=large, events=starts[1]))
    assert "1.00 GB -> 3.00 GB" in one(judge(case)[0], "DAT206").summary


def test_snapshots_that_have_grown_cost_every_batch() -> None:
    """As many snapshots as before, each of 6 MB."""
    before = control(counters={"snapshots": 1}, values={"memory.snapshot_bytes": 400})
    after = resumed(0.018, counters={"snapshots": 1}, values={"memory.snapshot_bytes": 6 * MB}, **SLOW)
    case = make_case(before, after)
    findings, _ = judge(case)
    found = one(findings, "DAT206")
    assert found.confidence is Confidence.CONFIRMED
    assert "grown to 6.00 MB" in found.summary
    assert [f.code for f in findings] == ["DAT206"]


def test_a_state_that_is_asked_for_in_every_step_costs_too() -> None:
    """The control asks when it saves."""
    after = resumed(0.018, counters={"snapshots": 1, "snapshot_s": 0.008}, **SLOW)
    found = one(judge(make_case(control(), after))[0], "DAT206")
    assert "more often" in found.summary


def test_heavy_snapshots_that_nobody_waits_for_are_not_blamed() -> None:
    """Workers that are fast enough hide them."""
    before = control(counters={"snapshots": 1}, values={"memory.snapshot_bytes": 400})
    after = resumed(counters={"snapshots": 1}, values={"memory.snapshot_bytes": 6 * MB})
    assert judge(make_case(before, after))[0] == ()
