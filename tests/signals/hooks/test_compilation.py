"""Compilations by dynamo."""

from __future__ import annotations

import pytest

from tests.conftest import Record, Train
from tests.recorded import check_parts

RECOMPILING = """
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.scale = 1
    def forward(self, x):
        return self.layer(x) * self.scale
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
compiled = torch.compile(model, backend="{backend}")
for step in range(6):
    if step == 3:
        model.scale = 2
    optimizer.zero_grad()
    compiled(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""

COMPILED_OPTIMIZER = """
import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(1e-3))
@torch.compile(backend="eager")
def update():
    optimizer.step()
for _ in range(5):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    update()
"""


def test_recompilations_say_why(train: Train) -> None:
    """Each compilation is an event in its step, and a recompilation tells the guard that failed."""
    recorded = train(RECOMPILING.format(backend="eager"))
    assert recorded.process.returncode == 0, recorded.process.stderr
    first, second = recorded.events("compile")
    assert (first.step, second.step) == (0, 3)
    assert first.fields["trigger"] == second.fields["trigger"] == "dynamo"
    assert first.fields["reason"] is None
    assert "scale" in str(second.fields["reason"])
    assert first.fields["frame"] == second.fields["frame"] == "forward"
    assert str(first.fields["file"]).endswith(".py")
    assert first.fields["line"] == second.fields["line"] == 9
    assert second.fields["failed"] is None
    assert recorded.counts("compiles") == [1, 0, 0, 1, 0, 0]


def test_backward_is_compiled_when_it_first_runs(train: Train) -> None:
    """A compilation inside backward is an event of its own, with its own trigger, and not backward time."""
    recorded = train(RECOMPILING.format(backend="aot_eager"))
    assert recorded.process.returncode == 0, recorded.process.stderr
    compilations = [(event.step, event.fields["trigger"]) for event in recorded.events("compile")]
    assert compilations == [(0, "dynamo"), (0, "lazy_backward"), (3, "dynamo"), (3, "lazy_backward")]
    assert recorded.counts("compiles") == [2, 0, 0, 2, 0, 0]
    assert recorded.counts("backwards") == [1] * 6
    check_parts(recorded.steps)


def test_compilation_is_a_part_of_its_own(train: Train) -> None:
    """The time of a compilation is in the step that waits for it, and in no other part."""
    recorded = train(RECOMPILING.format(backend="eager"))
    compile_s = recorded.steps.parts["compile"]
    assert [seconds > 0 for seconds in compile_s] == [True, False, False, True, False, False]
    for event in recorded.events("compile"):
        assert event.duration_s is not None
        assert 0 < event.duration_s <= recorded.steps.step_s(event.step)
    check_parts(recorded.steps)


def test_frames_in_the_fingerprint(train: Train) -> None:
    """The fingerprint counts compiled frames, graph breaks and skipped CUDA graphs."""
    recorded = train(RECOMPILING.format(backend="eager"))
    before, after = recorded.rank.fingerprints
    assert (before.values["compiled.frames"], after.values["compiled.frames"]) == (1, 2)
    assert after.values["compiled.graph_breaks"] == 0
    assert after.values["compiled.cudagraph_skips"] == 0


def test_a_compiled_optimizer(train: Train) -> None:
    """Where the optimizer's step itself is compiled, steps are still counted once each."""
    recorded = train(COMPILED_OPTIMIZER)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert len(recorded.steps) == 5
    check_parts(recorded.steps)


@pytest.mark.long
def test_the_compilers_caches(record: Record, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A second process that finds the first one's cache tells hits, where the first told misses."""
    cache = str(tmp_path_factory.mktemp("inductor"))
    source = RECOMPILING.format(backend="inductor")
    cold, warm = (record(source, TORCHINDUCTOR_CACHE_DIR=cache, RUN=run) for run in ("1", "2"))
    for recorded, hit in ((cold, False), (warm, True)):
        assert recorded.process.returncode == 0, recorded.process.stderr
        forward = [event for event in recorded.events("compile") if event.fields["trigger"] == "dynamo"]
        assert [event.step for event in forward] == [0, 3]
        for event in forward:
            assert bool(event.fields["cache_hits"]) is hit
            assert bool(event.fields["cache_misses"]) is not hit
        check_parts(recorded.steps)
