"""Events of traces are sorted by what torch and Kineto call them, in all versions."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from ckpt_doctor.readers import profiler_events
from ckpt_doctor.readers.json_text import JsonText
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.profiler_events import Collected, collect

Json = dict[str, object]


def event(name: str, ts: float, dur: float, cat: str | None = "cpu_op", tid: int = 1, **args: object) -> Json:
    """A complete event of process 7, times in microseconds."""
    category = {} if cat is None else {"cat": cat}
    return {"ph": "X", "name": name, "ts": ts, "dur": dur, "pid": 7, "tid": tid, "args": args, **category}


def collected(events: Sequence[object], **header: object) -> Collected:
    """What is kept of a trace."""
    return collect(JsonText(iter([json.dumps({**header, "traceEvents": events}).encode()])))


def test_marks() -> None:
    """Steps, batches, optimizer steps, compilations and compiled code are found by their names."""
    trace = collected(
        [
            event("ProfilerStep#3", 100, 50, "user_annotation"),
            event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 101, 5, "user_annotation"),
            event("Torch-Compiled Region: 0/0", 110, 10),
            event("CompiledFunction", 111, 8),
            event("CompiledFunctionBackward", 125, 4),
            event("autograd::engine::evaluate_function: CompiledFunctionBackward", 124, 6),
            event("_compile.compile_inner (dynamo_timed)", 112, 2),
            event("Optimizer.step#Adam.step", 140, 5, "Operator"),
            event("ProfilerStep#3", 100, 50, "gpu_user_annotation"),
            event("my own annotation", 100, 50, "user_annotation"),
        ]
    )
    assert [len(found) for found in (trace.marks, trace.data, trace.optimizers, trace.compiles)] == [1] * 4
    assert [region.name for region in trace.regions] == ["Torch-Compiled Region: 0/0", "CompiledFunction"]
    assert len(trace.backward.starts_s) == 1
    assert trace.marks[0].thread == (7, 1)
    assert trace.marks[0].end_s - trace.marks[0].start_s == pytest.approx(50e-6)


def test_times_are_counted_from_the_first_event() -> None:
    """Microseconds since whenever become seconds since the first event, without loss."""
    trace = collected([event("aten::mm", 1661203462598772.25, 3), event("aten::mm", 1661203462598782.75, 3)])
    times = trace.operators[7, 1]
    assert trace.base_us == 1661203462598772.25
    assert list(times.starts_s) == pytest.approx([0, 10.5e-6])


def test_only_operators_outside_of_others() -> None:
    """What runs inside another operator, a batch, an optimizer step or backward is not counted again."""
    trace = collected(
        [
            event("aten::linear", 0, 10),
            event("aten::addmm", 1, 8),
            event("autograd::engine::evaluate_function: X", 20, 10),
            event("aten::mm", 21, 8),
            event("Optimizer.step#SGD.step", 40, 10),
            event("aten::add_", 41, 8),
            event("aten::add", 0, 100, tid=2),
            event("aten::relu", 60, 5),
        ]
    )
    assert list(trace.operators[7, 1].starts_s) == pytest.approx([0, 60e-6])
    assert len(trace.operators[7, 2].starts_s) == 1


def test_devices() -> None:
    """Kernels and copies are kept by stream, with the devices that they ran on; graphs by their launches."""
    trace = collected(
        [
            event("gemm", 0, 10, "kernel", tid=20, device=3),
            event("copy", 5, 10, "gpu_memcpy", tid=21, device=3),
            event("set", 9, 1, "Memset", tid=21, device=4),
            event("cudaGraphLaunch", 1, 2, "cuda_runtime"),
            event("hipGraphLaunch", 2, 2, "cuda_runtime"),
            event("cudaStreamBeginCapture_v2", 3, 2, "cuda_runtime"),
            event("cudaStreamEndCapture", 8, 2, "cuda_runtime"),
            event("cudaStreamGetCaptureInfo", 8, 2, "cuda_runtime"),
            event("cudaLaunchKernel", 9, 2, "Runtime"),
        ]
    )
    assert trace.devices == {3: 2, 4: 1}
    assert [len(times.starts_s) for times in trace.kernels.values()] == [1, 2]
    assert len(trace.launches_s) == 2
    assert [(round(t_s * 1e6), begins) for t_s, _, begins in trace.captures] == [(3, True), (10, False)]


def test_stacks() -> None:
    """Python's calls tell where loaders make iterators and start processes."""
    trace = collected(
        [
            event("torch/utils/data/dataloader.py(390): _get_iterator", 0, 50, "python_function"),
            event("multiprocessing/process.py(110): start", 10, 20, "python_function"),
            event("torch/utils/data/dataloader.py(390): __next__", 60, 50, "python_function"),
            event("threading.py(964): start", 70, 20, "python_function"),
        ],
        with_stack=1,
    )
    assert (len(trace.iterators), len(trace.process_starts)) == (1, 1)
    assert trace.header == {"with_stack": 1}


def test_shapes() -> None:
    """Operators whose inputs' shapes are known tell how much they multiply."""
    trace = collected([event("aten::mm", 4, 1, **{"Input Dims": [[2, 3], [3, 5]]}), event("aten::mm", 9, 1)])
    assert list(trace.work.ends_s) == [30]


def test_an_array_of_events() -> None:
    """The format's other form, a bare array of events, is read too; so are events of no category."""
    events = [event("ProfilerStep#0", 0, 9, None), event("aten::mm", 1, 2, None)]
    trace = collect(JsonText(iter([json.dumps(events).encode()])))
    assert (len(trace.marks), len(trace.operators)) == (1, 1)


@pytest.mark.parametrize(
    "odd",
    [
        None,
        1,
        "X",
        [],
        {"ph": "X"},
        {"ph": "X", "cat": [], "name": "a", "ts": 1, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": [], "ts": 1, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": "1", "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1e300, "dur": 1},
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": -1},
        {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "pid": [], "tid": {}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1, "args": {"Input Dims": 7}},
        {"ph": "X", "cat": "kernel", "name": "a", "ts": 1, "dur": 1, "args": 7},
    ],
)
def test_odd_events(odd: object) -> None:
    """Events of another make are passed over, and none of them is a crash."""
    trace = collected([odd, event("ProfilerStep#0", 10, 20, "user_annotation")])
    assert len(trace.marks) == 1


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would need too much memory is refused."""
    monkeypatch.setattr(profiler_events, "MAX_TIMES", 10)
    monkeypatch.setattr(profiler_events, "MAX_SPANS", 10)
    monkeypatch.setattr(profiler_events, "_MAX_THREADS", 10)
    for events, words in (
        ([event("k", i, 1, "kernel") for i in range(11)], "more than 10 events"),
        ([event("aten::mm", 2 * i, 1) for i in range(11)], "more than 10 events"),
        ([event("ProfilerStep#0", i, 1, "user_annotation") for i in range(11)], "more than 10 marks"),
        ([event("Optimizer.step#A.step", i, 1, tid=i) for i in range(11)], "more than 10"),
    ):
        with pytest.raises(Malformed, match=words):
            collected(events)
