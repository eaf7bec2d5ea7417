"""The moments of a step are kept by kind, and handed over once."""

from __future__ import annotations

from time import perf_counter_ns

from ckpt_doctor.facts.moments import DATA_WAIT, END, FED, FORWARD, GC, KINDS, REST
from ckpt_doctor.signals.clock import PartClock


def test_moments_are_handed_over_once() -> None:
    """Each is in the list of its kind, in nanoseconds; what comes later is handed over later."""
    clock, begin_ns = PartClock(), perf_counter_ns()
    clock.push(DATA_WAIT)
    clock.pop()
    clock.marker(GC)(begin_ns)
    moments_ns, fed = clock.take()
    assert len(moments_ns) == KINDS
    assert moments_ns[GC] == [begin_ns]
    assert fed == []
    (wait_ns,), (end_ns,) = moments_ns[DATA_WAIT], moments_ns[END]
    assert begin_ns <= wait_ns <= end_ns <= perf_counter_ns()
    assert sum(map(len, moments_ns)) == 3
    clock.marker(GC)(5)
    moments_ns, _ = clock.take()
    assert [known_ns for known_ns in moments_ns if known_ns] == [[5]]


def test_a_batch_goes_with_its_moment() -> None:
    """What a batch brought waits for the moment at which it came."""
    clock = PartClock()
    mark_fed, first, second = clock.marker(FED), (((4, 3),), "i:1"), ((), None)
    clock.fed.append(first)
    mark_fed(1)
    clock.fed.append(second)
    assert clock.take()[1] == [first]
    assert clock.take()[1] == []
    mark_fed(2)
    assert clock.take()[1] == [second]


def test_inside() -> None:
    """A part is open from its start to its end, also while another interrupts it."""
    clock = PartClock()
    assert not clock.inside(REST)
    clock.push(DATA_WAIT)
    clock.push(GC)
    clock.take()
    assert clock.inside(DATA_WAIT)
    assert clock.inside(GC)
    clock.pop()
    assert clock.inside(DATA_WAIT)
    assert not clock.inside(GC)
    clock.pop()
    assert not clock.inside(DATA_WAIT)
    assert not clock.inside(FORWARD)


def test_a_new_beginning() -> None:
    """A forked child has its own first step, in the same lists."""
    clock = PartClock()
    fed, opened, mark = clock.fed, clock.opened, clock.marker(GC)
    clock.push(DATA_WAIT)
    fed.append(((), None))
    clock.restart()
    assert clock.take() == ([[] for _ in range(KINDS)], [])
    assert (clock.fed, clock.opened) == ([], [])
    assert clock.fed is fed
    assert clock.opened is opened
    mark(7)
    assert clock.take()[0][GC] == [7]
