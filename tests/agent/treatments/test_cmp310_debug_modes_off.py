"""Modes for debugging are off, whatever the script asks for."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp310_debug_modes_off import plan
from ckpt_doctor.facts.treatment import NotTested, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

ANOMALY, DETERMINISTIC, BENCHMARK = "autograd.anomaly", "backend.deterministic", "backend.cudnn_benchmark"

SCRIPT = """
import torch
torch.use_deterministic_algorithms(True, warn_only=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    with torch.autograd.detect_anomaly(check_nan=False):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        on = torch.is_anomaly_enabled()
    optimizer.step()
print(on, torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark)
"""


def test_what_is_switched_on_stays_off(treat: Treat) -> None:
    """Also within a context manager of each step; what was on before comes back."""
    off = treat(SCRIPT, "CMP310", {ANOMALY: False, DETERMINISTIC: False, BENCHMARK: True})
    assert off.process.stdout == "False False True\n"
    assert set(said(off)) == {
        "anomaly detection left off",
        "determinism left off",
        "cudnn.benchmark set",
    }


def test_what_only_the_resumed_run_has() -> None:
    """Settings, variables, and modes that show in the passes alone; hooks cannot be taken away."""
    finding = suspected("CMP310")

    def planned(values: dict[str, object], **counters: float) -> PutBack | NotTested:
        runs = control(values={DETERMINISTIC: False}), resumed(values=values, counters=counters)
        return plan(finding, comparison_of(make_case(*runs)))

    settings = planned({DETERMINISTIC: True, "env.CUDA_LAUNCH_BLOCKING": "1"})
    assert isinstance(settings, PutBack)
    assert settings.settings == {DETERMINISTIC: False}
    assert settings.environment == {"CUDA_LAUNCH_BLOCKING": None}
    passes = planned({DETERMINISTIC: False}, anomaly_backwards=1)
    assert isinstance(passes, PutBack)
    assert passes.settings == {ANOMALY: False}
    assert isinstance(planned({DETERMINISTIC: False, "modules.hooks": 9}), NotTested)
