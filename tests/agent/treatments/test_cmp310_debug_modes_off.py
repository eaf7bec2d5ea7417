"""Modes for debugging are off, whatever the script asks for."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp310_debug_modes_off import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, failed, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

ANOMALY, DETERMINISTIC, PROFILER = "autograd.anomaly", "backend.deterministic", "autograd.profiler"
BENCHMARK, HOOKS = "backend.cudnn_benchmark", "modules.hooks"

SCRIPT = """
import torch
torch.use_deterministic_algorithms(True, warn_only=True)
profiler = torch.profiler.profile()
profiler.start()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Watch:
    calls = 0
    def __call__(self, *args):
        self.calls += 1
    def note(self, *args):
        self.calls += 1
watch = Watch()
for _ in range(3):
    handle = model.register_forward_hook(watch.note)
model.register_forward_hook(watch)
for _ in range(3):
    with torch.autograd.detect_anomaly(check_nan=False):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        on = torch.is_anomaly_enabled()
    optimizer.step()
    profiler.step()
print(on, torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark)
print(torch.autograd._profiler_enabled(), watch.calls)
profiler.stop()
handle.remove()
"""


def test_what_is_switched_on_stays_off(treat: Treat) -> None:
    """Also within a context manager of each step; of hooks that are the same, one works on."""
    settings = {ANOMALY: False, DETERMINISTIC: False, BENCHMARK: True, PROFILER: False, HOOKS: "once each"}
    off = treat(SCRIPT, "CMP310", settings)
    # The first step calls all four hooks, each later one two.
    assert off.process.stdout == "False False True\nFalse 8\n"
    assert set(said(off)) == {
        "anomaly detection left off",
        "determinism left off",
        "cudnn.benchmark set",
        "profiler left off",
        "2 copies of hooks dropped",
    }


def test_hooks_that_are_no_copies(treat: Treat) -> None:
    """Nothing can be put back then, and that is said."""
    script = SCRIPT.replace("watch.note)", "lambda *args: None)")
    assert failed(treat(script, "CMP310", {HOOKS: "once each"})) == ["no module has the same hook twice"]


def test_what_only_the_resumed_run_has() -> None:
    """Settings, variables, modes that show in the passes alone, and hooks of which there are more."""
    finding = suspected("CMP310")

    def planned(values: dict[str, object], **counters: float) -> PutBack | NotTested:
        before = {DETERMINISTIC: False, HOOKS: 4}
        runs = control(values=before), resumed(values={**before, **values}, counters=counters)
        return plan(finding, comparison_of(make_case(*runs)))

    settings = planned({DETERMINISTIC: True, "env.CUDA_LAUNCH_BLOCKING": "1"})
    assert isinstance(settings, PutBack)
    assert settings.settings == {DETERMINISTIC: False}
    assert settings.environment == {"CUDA_LAUNCH_BLOCKING": None}
    passes = planned({}, anomaly_backwards=1, profiled_backwards=1)
    assert isinstance(passes, PutBack)
    assert passes.settings == {ANOMALY: False, PROFILER: False}
    twice = planned({HOOKS: 8})
    assert isinstance(twice, PutBack)
    assert twice.settings == {HOOKS: "once each"}
    assert isinstance(planned({"python.tracing": "trace"}), NotThere)
