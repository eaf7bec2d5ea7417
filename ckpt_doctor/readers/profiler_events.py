"""What is kept of the events of a profiler's trace, while they stream by: times, not the events themselves.

Format: Trace Event Format with the categories and names that Kineto and torch give
(``libkineto/src/output_json.cpp``, ``torch/csrc/autograd/engine.cpp``, ``torch/_dynamo/utils.py``); they
differ between versions, so both the old and the new ones are known. Times are microseconds there, and
seconds since the trace's first event here.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ckpt_doctor.readers.json_text import JsonText
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.shapes import multiply_adds

Thread = tuple[object, object]
"""Process and thread as the trace numbers them."""
Event = Mapping[str, object]

MAX_TIMES = 10_000_000
"""Operators and kernels whose times are kept, at 16 bytes each: those of several GB of trace."""
MAX_SPANS = 1_000_000
"""Marks of the profiler and the like: steps, batches, optimizer steps."""
_STEP, _DATA, _OPTIMIZER = "ProfilerStep#", "enumerate(DataLoader)#", "Optimizer.step#"
_BACKWARD = "autograd::engine::evaluate_function"
_COMPILE = "(dynamo_timed)"
_REGIONS = ("Torch-Compiled Region", "CompiledFunction")
"""Calls of compiled code; the second name is the older one, and lies within the first."""
_REGIONS_BACKWARD = "CompiledFunctionBackward"
_GRAPH_LAUNCH = ("cudaGraphLaunch", "hipGraphLaunch")
_CAPTURE_BEGINS = ("cudaStreamBeginCapture", "hipStreamBeginCapture")
_CAPTURE_ENDS = ("cudaStreamEndCapture", "hipStreamEndCapture")
_ITERATOR = re.compile(r"torch/utils/data/dataloader\.py\(\d+\): _get_iterator$")
_PROCESS_START = re.compile(r"multiprocessing/process\.py\(\d+\): start$")
_HEADER = ("deviceProperties", "distributedInfo", "record_shapes", "with_stack", "cuda_runtime_version")
_EVENTS = "traceEvents"
_HOST = ("cpu_op", "Operator", None)
_DEVICE = ("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset")
_RUNTIME = ("cuda_runtime", "Runtime", "cuda_driver", "hip_runtime")
"""Categories, the newer names first."""
_MAX_DEVICES = 64
_MAX_THREADS = 4096


class Timed(NamedTuple):
    """A span of a thread."""

    start_s: float
    end_s: float
    name: str
    thread: Thread


@dataclass(eq=False, repr=False)
class Times:
    """Starts and ends of many events."""

    starts_s: array[float] = field(default_factory=lambda: array("d"))
    ends_s: array[float] = field(default_factory=lambda: array("d"))

    def add(self, start_s: float, end_s: float) -> None:
        """Append one."""
        self.starts_s.append(start_s)
        self.ends_s.append(end_s)


@dataclass(eq=False, repr=False)
class Collected:
    """A trace, as far as it matters for the time of steps."""

    header: dict[str, object] = field(default_factory=dict)
    base_us: float | None = None
    """Time of the first event, from which all others are counted."""
    marks: list[Timed] = field(default_factory=list)
    data: list[Timed] = field(default_factory=list)
    iterators: list[Timed] = field(default_factory=list)
    """Where loaders make an iterator, in traces with stacks."""
    process_starts: list[Timed] = field(default_factory=list)
    optimizers: list[Timed] = field(default_factory=list)
    compiles: list[Timed] = field(default_factory=list)
    regions: list[Timed] = field(default_factory=list)
    backward: Times = field(default_factory=Times)
    operators: dict[Thread, Times] = field(default_factory=dict)
    """Operators that run in no other one, by thread."""
    kernels: dict[Thread, Times] = field(default_factory=dict)
    """What ran on devices, kernels and copies, by device and stream."""
    devices: Counter[object] = field(default_factory=Counter)
    launches_s: array[float] = field(default_factory=lambda: array("d"))
    """Launches of CUDA graphs."""
    captures: list[tuple[float, Thread, bool]] = field(default_factory=list)
    """Begins (True) and ends of captures of CUDA graphs."""
    work: Times = field(default_factory=Times)
    """Moments, and multiplications in place of ends, of forward operators that are known by their shapes."""


def collect(text: JsonText) -> Collected:
    """Read a trace to its end.

    Raises:
        Malformed: It is damaged, cut short, or has more events than are kept.
    """
    collector = _Collector()
    if text.peek() == "[":
        collector.take_all(text)
        return collector.found
    for key in text.keys():  # noqa: SIM118 - this is no dict
        if key == _EVENTS:
            collector.take_all(text)
        else:
            value = text.value()
            if key in _HEADER:
                collector.found.header[key] = value
    return collector.found


class _Collector:
    """Sorts events by their categories."""

    def __init__(self) -> None:
        self.found = Collected()
        self._spans = self._times = 0
        self._outermost: dict[Thread, tuple[float, float]] = {}
        """The outermost operator or span of each thread that was met last."""
        self._backward_ends_s: dict[Thread, float] = {}
        """Where the last function of autograd's that was met on a thread ends."""
        self._handlers: dict[object, Callable[[Event, float, float], None]] = {
            **dict.fromkeys(_HOST, self._operator),
            "user_annotation": self._annotation,
            "python_function": self._python,
            **dict.fromkeys(
                ("kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset"), self._device
            ),
            **dict.fromkeys(_RUNTIME, self._runtime),
        }

    def take_all(self, text: JsonText) -> None:
        """Take the events of an array."""
        handlers = self._handlers
        for event in text.items():
            if type(event) is not dict or event.get("ph") != "X":
                continue
            category = event.get("cat")
            handler = handlers.get(category) if category is None or type(category) is str else None
            if handler is not None:
                start_s, length_s = self._time(event)
                if length_s >= 0:
                    handler(event, start_s, start_s + length_s)

    def _time(self, event: Event) -> tuple[float, float]:
        """Start and length in seconds; a negative length where the event has no usable time."""
        ts, dur = event.get("ts"), event.get("dur", 0)
        if not isinstance(ts, (int, float)) or not isinstance(dur, (int, float)):
            return 0.0, -1.0
        if not (-1e19 < ts < 1e19 and 0 <= dur < 1e15):
            return 0.0, -1.0
        if self.found.base_us is None:
            self.found.base_us = ts
        return (ts - self.found.base_us) * 1e-6, dur * 1e-6

    def _operator(self, event: Event, start_s: float, end_s: float) -> None:
        name, thread = event.get("name"), _thread(event)
        if type(name) is not str or self._mark(name, start_s, end_s, thread):
            return
        args = event.get("args")
        if type(args) is dict and "Input Dims" in args and not self._in_backward(thread, start_s):
            amount = multiply_adds(name, args["Input Dims"])
            if amount:
                self._count_time()
                self.found.work.add(start_s, amount)
        if self._is_outermost(thread, start_s, end_s):
            self._count_time()
            self._times_of(self.found.operators, thread).add(start_s, end_s)

    def _annotation(self, event: Event, start_s: float, end_s: float) -> None:
        name = event.get("name")
        if type(name) is str:
            self._mark(name, start_s, end_s, _thread(event))

    def _mark(self, name: str, start_s: float, end_s: float, thread: Thread) -> bool:
        """Keep what has a name of its own; returns whether it is no plain operator."""
        found = self.found
        if name.startswith(_BACKWARD):
            self._count_time()
            if self._is_outermost(thread, start_s, end_s):
                self._backward_ends_s[thread] = end_s
            found.backward.add(start_s, end_s)
            return True
        if name.startswith(_STEP):
            kept = found.marks
        elif name.startswith(_DATA):
            kept = found.data
        elif name.startswith(_OPTIMIZER):
            kept = found.optimizers
        elif name.endswith(_COMPILE):
            kept = found.compiles
        elif name.startswith(_REGIONS) and not name.startswith(_REGIONS_BACKWARD):
            self._keep(found.regions, Timed(start_s, end_s, name, thread))
            return False
        else:
            return False
        self._keep(kept, Timed(start_s, end_s, name, thread))
        if kept is not found.marks:
            self._is_outermost(thread, start_s, end_s)
        return True

    def _python(self, event: Event, start_s: float, end_s: float) -> None:
        name = event.get("name")
        if type(name) is not str or not name.endswith(("_get_iterator", "start")):
            return
        span = Timed(start_s, end_s, name, _thread(event))
        if _ITERATOR.search(name):
            self._keep(self.found.iterators, span)
        elif _PROCESS_START.search(name):
            self._keep(self.found.process_starts, span)

    def _device(self, event: Event, start_s: float, end_s: float) -> None:
        self._count_time()
        self._times_of(self.found.kernels, _thread(event)).add(start_s, end_s)
        args = event.get("args")
        device = args.get("device") if type(args) is dict else None
        if type(device) is int and (device in self.found.devices or len(self.found.devices) < _MAX_DEVICES):
            self.found.devices[device] += 1

    def _runtime(self, event: Event, start_s: float, end_s: float) -> None:
        name = event.get("name")
        if type(name) is not str:
            return
        if name.startswith(_GRAPH_LAUNCH):
            self._count_time()
            self.found.launches_s.append(start_s)
        elif name.startswith(_CAPTURE_BEGINS + _CAPTURE_ENDS):
            self._count_span()
            begins = name.startswith(_CAPTURE_BEGINS)
            thread = _thread(event)
            self.found.captures.append((start_s if begins else end_s, thread, begins))

    def _is_outermost(self, thread: Thread, start_s: float, end_s: float) -> bool:
        """Whether it lies in nothing that this thread was seen to be in; parents come before children."""
        last = self._outermost.get(thread)
        if last is not None and last[0] <= start_s and end_s <= last[1]:
            return False
        if last is None and len(self._outermost) >= _MAX_THREADS:
            raise Malformed(f"it has more than {_MAX_THREADS:,} threads")
        self._outermost[thread] = (start_s, end_s)
        return True

    def _in_backward(self, thread: Thread, start_s: float) -> bool:
        """Whether an operator runs in backward, which would count the work of forward again."""
        return start_s < self._backward_ends_s.get(thread, float("-inf"))

    def _times_of(self, threads: dict[Thread, Times], thread: Thread) -> Times:
        times = threads.get(thread)
        if times is None:
            if len(threads) >= _MAX_THREADS:
                raise Malformed(f"it has more than {_MAX_THREADS:,} threads")
            times = threads[thread] = Times()
        return times

    def _keep(self, kept: list[Timed], span: Timed) -> None:
        self._count_span()
        kept.append(span)

    def _count_span(self) -> None:
        self._spans += 1
        if self._spans > MAX_SPANS:
            raise Malformed(f"it has more than {MAX_SPANS:,} marks", "profile fewer steps")

    def _count_time(self) -> None:
        self._times += 1
        if self._times > MAX_TIMES:
            raise Malformed(f"it has more than {MAX_TIMES:,} events", "profile fewer steps")


def _thread(event: Event) -> Thread:
    pid, tid = event.get("pid"), event.get("tid")
    return (
        pid if isinstance(pid, (int, str)) else None,
        tid if isinstance(tid, (int, str)) else None,
    )
