"""CUDA graphs, on a fake of torch's class: a capture needs a device, the hook does not."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import check_parts

FAKE = """
import sys, time, types
import torch

class CUDAGraph:
    def __init__(self):
        self.calls = []
    def capture_begin(self, pool=None, capture_error_mode="global"):
        self.calls.append(("begin", pool, capture_error_mode))
    def capture_end(self):
        self.calls.append("end")
        if len(self.calls) > 6:
            raise RuntimeError("capture failed")
    def replay(self):
        self.calls.append("replay")
        return "launched"

from ckpt_doctor.agent.core import Agent
from ckpt_doctor.signals.hooks import cuda_graph
import gc
gc.unfreeze()
(agent,) = (item for item in gc.get_objects() if type(item) is Agent)
cuda_graph.install(agent, types.SimpleNamespace(CUDAGraph=CUDAGraph))

model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
graph = CUDAGraph()
def capture():
    graph.capture_begin("pool", capture_error_mode="thread_local")
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end:
        pass
    graph.capture_end()

capture()
optimizer.step()
assert graph.replay() == "launched"
graph.replay()
optimizer.step()
capture()
graph.replay()
optimizer.step()
try:
    capture()
except RuntimeError:
    print("failed")
optimizer.step()
optimizer.step()
print(graph.calls[:3])
"""


def test_captures_and_replays(train: Train) -> None:
    """Captures are events with their length, and compilation time; replays are counted."""
    recorded = train(FAKE)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.process.stdout.splitlines() == [
        "failed",
        "[('begin', 'pool', 'thread_local'), 'end', 'replay']",
    ]
    captures = recorded.events("graph_capture")
    assert [event.step for event in captures] == [0, 2, 3]
    assert all(event.duration_s is not None and 0.01 <= event.duration_s < 5 for event in captures)
    assert recorded.counts("graph_captures") == [1, 0, 1, 1, 0]
    assert recorded.counts("graph_replays") == [0, 2, 1, 0, 0]
    compile_s = recorded.steps.parts["compile"]
    assert [seconds > 0.009 for seconds in compile_s] == [True, False, True, True, False]
    check_parts(recorded.steps)


def test_torchs_own_class_has_these_methods(train: Train) -> None:
    """The methods that the hook wraps are there in torch, with or without a device, and are wrapped."""
    recorded = train(
        "from torch.cuda.graphs import CUDAGraph\n"
        "for name in ('capture_begin', 'capture_end', 'replay'):\n"
        "    print(getattr(CUDAGraph, name).__wrapped__.__name__)\n"
    )
    assert recorded.process.stdout.split() == ["capture_begin", "capture_end", "replay"]
