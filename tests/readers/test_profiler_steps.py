"""Steps of a profiled process, and what fills them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.profiler_events import Collected, Thread, Timed, Times
from ckpt_doctor.readers.profiler_steps import compilations, profiled, regions, series, worker_starts

MAIN: Thread = (7, 1)
OTHER: Thread = (7, 2)


def times(*stretches: tuple[float, float]) -> Times:
    """Starts and ends of some stretches."""
    found = Times()
    for start_s, end_s in stretches:
        found.add(start_s, end_s)
    return found


def spans(name: str, *stretches: tuple[float, float], thread: Thread = MAIN) -> list[Timed]:
    """Spans of one name."""
    return [Timed(start_s, end_s, name, thread) for start_s, end_s in stretches]


def usual(count: int = 4, *, marked: bool = True) -> Collected:
    """Steps of 10 s: 2 s of data wait, 2 s of forward, 3 s of backward and 2 s of optimizer."""
    starts = [10.0 * i for i in range(count)]
    trace = Collected()
    if marked:
        trace.marks = spans("ProfilerStep#", *((t, t + 10) for t in starts))
    trace.data = spans("enumerate(DataLoader)#X", *((t, t + 2) for t in starts))
    trace.optimizers = spans("Optimizer.step#SGD.step", *((t + 7.5, t + 9.5) for t in starts))
    functions = [(t + 4 + i, t + 4.9 + i) for t in starts for i in range(3)]
    trace.backward = times(*functions)
    trace.operators = {MAIN: times(*((t + 2.5, t + 3.5) for t in starts))}
    return trace


def columns(trace: Collected) -> dict[str, tuple[float | None, ...]]:
    """Parts and counters of a trace."""
    steps = series(profiled(trace))
    return {**steps.parts, **steps.counters}


def test_parts() -> None:
    """Data wait, forward, backward, optimizer and the rest, and how often each came."""
    found = columns(usual())
    for name, value in (
        ("data_wait", 2.0),
        ("forward", 2.0),
        ("backward", 2.9),
        ("optimizer", 2.0),
        ("rest", 1.1),
        ("compile", 0.0),
        ("batches", 1.0),
        ("backwards", 1.0),
        ("optimizer_steps", 1.0),
        ("operator_s", 1.0),
    ):
        assert found[name] == pytest.approx([value] * 4), name


def test_micro_batches() -> None:
    """A second forward between two runs of autograd's functions makes two backward passes."""
    trace = usual(1)
    trace.backward = times((3, 4), (4.1, 5), (6, 7))
    trace.operators[MAIN] = times((2, 3), (5.2, 5.9))
    found = columns(trace)
    assert found["backwards"] == (2.0,)
    assert found["backward"] == pytest.approx([3.0])


def test_a_closure() -> None:
    """An optimizer that runs forward and backward in a closure spends only the rest on its update."""
    trace = usual(1)
    trace.optimizers = spans("Optimizer.step#SGD.step", (2.2, 9.5))
    found = columns(trace)
    assert found["forward"] == pytest.approx([2.0])
    assert found["backward"] == pytest.approx([2.9])
    assert found["optimizer"] == pytest.approx([2.6])


def test_without_marks() -> None:
    """A step lasts from the end of one optimizer step to that of the next."""
    run = profiled(usual(4, marked=False))
    assert run.steps == [(9.5, 19.5), (19.5, 29.5), (29.5, 39.5)]
    assert series(run).counters["batches"] == (1.0, 1.0, 1.0)


def test_several_optimizers() -> None:
    """Where optimizers take turns, the first one's steps end the steps; nested ones count once."""
    trace = Collected()
    trace.optimizers = [
        *spans("Optimizer.step#Shampoo.step", (1, 2), (11, 12), (21, 22)),
        *spans("Optimizer.step#Grafted.step", (1.2, 1.8), (11.2, 11.8), (21.2, 21.8)),
        *spans("Optimizer.step#EMA.step", (3, 4), (13, 14), (23, 24)),
    ]
    assert profiled(trace).steps == [(2, 12), (12, 22)]


def test_a_last_mark_that_trains_nothing() -> None:
    """The profiler marks what follows the last step; a mark in which something is trained stays."""
    trace = usual(3)
    trace.marks += spans("ProfilerStep#", (30.0, 30.1))
    assert len(profiled(trace).steps) == 3
    trace.optimizers += spans("Optimizer.step#SGD.step", (30.01, 30.09))
    assert len(profiled(trace).steps) == 4


def test_marks_that_overlap() -> None:
    """Steps are cut so that no moment belongs to two of them; the thread with most marks trains."""
    trace = Collected()
    trace.marks = [
        *spans("ProfilerStep#", (0, 5), (4, 9), (9, 12)),
        *spans("ProfilerStep#", (1, 2), thread=OTHER),
    ]
    run = profiled(trace)
    assert run.thread == MAIN
    assert run.steps == [(0, 5), (5, 9), (9, 12)]


def test_nothing_marks_a_step() -> None:
    """A trace of something else is refused with what to do."""
    with pytest.raises(Malformed, match="neither ProfilerStep marks nor several optimizer steps") as refused:
        profiled(Collected())
    assert "prof.step()" in (refused.value.hint or "")


def test_other_threads_do_not_count() -> None:
    """Batches that another thread draws are no data wait of the training."""
    trace = usual(2)
    trace.data += spans("enumerate(DataLoader)#X", (3, 9), (13, 19), thread=OTHER)
    assert columns(trace)["data_wait"] == pytest.approx([2.0, 2.0])


def test_compilation() -> None:
    """Compiling interrupts what it lies in, and is an event of its step; phases within it are not."""
    trace = usual(2)
    trace.compiles = [
        *spans("_compile.compile_inner (dynamo_timed)", (12.2, 13.2)),
        *spans("compile_fx (dynamo_timed)", (12.4, 13.0)),
        *spans("compile_fx.<locals>.bw_compiler (dynamo_timed)", (14.1, 14.6), thread=OTHER),
    ]
    run = profiled(trace)
    assert [(e.signal, e.step, e.fields["trigger"]) for e in compilations(run)] == [
        ("compile", 1, "dynamo"),
        ("compile", 1, "lazy_backward"),
    ]
    steps = series(run)
    assert steps.parts["compile"] == pytest.approx([0, 1.5])
    assert steps.parts["forward"] == pytest.approx([2, 1])
    assert steps.parts["backward"] == pytest.approx([2.9, 2.4])


def test_captures() -> None:
    """A capture lasts from its begin to its end on the same thread."""
    trace = usual(2)
    trace.captures = [(12.2, MAIN, True), (12.3, OTHER, False), (13.2, MAIN, False), (15, MAIN, False)]
    run = profiled(trace)
    (event,) = compilations(run)
    assert (event.signal, event.step, event.duration_s) == ("graph_capture", 1, pytest.approx(1.0))
    assert series(run).parts["compile"] == pytest.approx([0, 1])


def test_compiled_regions() -> None:
    """Regions are counted once, by the newer of their two names."""
    trace = usual(2)
    trace.regions = [
        *spans("Torch-Compiled Region: 0/0", (2.5, 3), (12.5, 13)),
        *spans("Torch-Compiled Region: 1/0", (3, 3.5)),
        *spans("CompiledFunction", (2.6, 2.9), (12.6, 12.9)),
    ]
    assert len(regions(trace)) == 3
    assert columns(trace)["compiled_regions"] == (2.0, 1.0)
    trace.regions = spans("CompiledFunction", (2.6, 2.9), (12.6, 12.9))
    assert columns(trace)["compiled_regions"] == (1.0, 1.0)


def test_a_device() -> None:
    """Busy is when anything runs on it; exposed is the wait for data in which nothing does."""
    trace = usual(2)
    assert "device_busy_s" not in columns(trace)
    trace.kernels = {(0, 7): times((1, 4), (5, 6), (12, 19)), (0, 8): times((3, 5))}
    trace.launches_s.extend([2.5, 12.5, 12.6])
    found = columns(trace)
    assert found["device_busy_s"] == pytest.approx([5, 7])
    assert found["device_idle_s"] == pytest.approx([5, 3])
    assert found["exposed_data_wait_s"] == pytest.approx([1, 2])
    assert found["graph_replays"] == (1.0, 2.0)


def test_work() -> None:
    """Multiplications are added up by step; where no shapes are known there is no such counter."""
    trace = usual(2)
    assert "multiply_adds" not in columns(trace)
    trace.work = times((2, 100.0), (5, 50.0), (12, 300.0))
    assert columns(trace)["multiply_adds"] == (150.0, 300.0)


def starts(trace: Collected) -> Sequence[tuple[str, int]]:
    """Worker starts and first batches by step."""
    return [(event.signal, event.step) for event in worker_starts(profiled(trace))]


def test_worker_starts() -> None:
    """An iterator that starts processes is a start of workers, and part of the data wait."""
    trace = usual(3)
    trace.data = spans("enumerate(DataLoader)#X", (1, 2), (11, 12), (21, 22))
    trace.iterators = spans("_get_iterator", (10, 11), (20, 21))
    trace.process_starts = spans("start", (10.1, 10.4), (10.5, 10.8))
    assert starts(trace) == [("worker_start", 1), ("first_batch", 1)]
    assert columns(trace)["data_wait"] == pytest.approx([1, 2, 2])
    assert columns(trace)["batches"] == (1.0, 1.0, 1.0)
