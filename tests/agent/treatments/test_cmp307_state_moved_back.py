"""Optimizer state is moved back to where the control has it."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp307_state_moved_back import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

SCRIPT = """
import torch
device = "cuda" if torch.cuda.is_available() else "meta"
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(model.parameters())
for p in model.parameters():
    optimizer.state[p] = {
        "step": torch.tensor(1.0), "exp_avg": torch.zeros_like(p), "exp_avg_sq": torch.zeros_like(p)}
model(torch.ones(3, 4)).sum().backward()
try:
    optimizer.step()
except (NotImplementedError, RuntimeError):
    pass  # moments and parameters are on different devices now: that is what was asked for
state = optimizer.state[model.weight]
print(state["exp_avg"].device.type == device, state["step"].device.type)
optimizer.state.clear()
optimizer.step()
"""


def test_before_the_first_step(treat: Treat) -> None:
    """Moments go where they belong before they are used, and counts of steps stay."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "meta"
    moved = treat(SCRIPT, "CMP307", {"0": {"state_devices": device}})
    assert moved.process.stdout == "True cpu\n"
    assert said(moved) == ["4 tensors moved"]


def test_one_kind_of_device() -> None:
    """State of which the control has all on one kind of device is put back there; nothing else is moved."""
    finding = suspected("CMP307")

    def planned(before: str, after: str) -> PutBack | NotTested:
        key = "optimizer.0.step_devices"
        runs = control(values={key: before}), resumed(values={key: after})
        return plan(finding, comparison_of(make_case(*runs)))

    moved = planned("cpu:4", "cuda:4")
    assert isinstance(moved, PutBack)
    assert moved.settings == {"0": {"step_devices": "cpu"}}
    mixed = planned("cpu:2,cuda:2", "cuda:4")
    assert isinstance(mixed, NotTested)
    assert not isinstance(mixed, NotThere)
    assert isinstance(planned("cpu:4", "cpu:6"), NotThere)
