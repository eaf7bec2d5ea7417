"""Optimizer state is cast back, and dead parameters are dropped."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp305_state_cast_back import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, failed, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

SCRIPT = """
import torch
def parameters(count):
    return [torch.nn.Parameter(torch.ones(4)) for _ in range(count)]
wide, dead, twice, needed = parameters(2), parameters(2), parameters(2), parameters(3)
optimizers = [
    torch.optim.Adam(wide), torch.optim.Adagrad(dead),
    torch.optim.SGD([{"params": twice + twice[:1]}], lr=0.1), torch.optim.SGD(needed, lr=0.1)]
for p in wide:
    optimizers[0].state[p] = {
        "step": torch.tensor(3.0), "exp_avg": torch.ones(4).double(), "exp_avg_sq": torch.ones(4).double()}
live = parameters(2)
for p in dead:
    p.grad = torch.zeros(4)
optimizers[1].add_param_group({"params": live})
schedule = torch.optim.lr_scheduler.StepLR(optimizers[1], 1)
for _ in range(4):
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=False)
    sum(p.square().sum() for p in wide + live + twice + needed).backward()
    for optimizer in optimizers:
        optimizer.step()
    schedule.step()
print([str(value.dtype) for state in optimizers[0].state.values() for value in state.values()])
print([[len(group["params"]) for group in optimizer.param_groups] for optimizer in optimizers])
print(len(optimizers[1].state), all(p.grad.any() for p in live), not any(p.grad.any() for p in dead))
"""

SETTINGS = {
    "0": {"types": ["float32"]},
    "1": {"parameters": 2},
    "2": {"parameters": 2},
    "3": {"parameters": 2},
}


def test_what_grew_is_back(treat: Treat) -> None:
    """Wide state is narrow, parameters that are dead or listed twice are gone, all others train on."""
    back = treat(SCRIPT, "CMP305", SETTINGS)
    types, counts, rest = back.process.stdout.splitlines()
    assert eval(types) == ["torch.float32"] * 6
    assert eval(counts) == [[2], [0, 2], [2], [3]]
    assert rest == "2 True True"
    assert said(back) == ["4 tensors cast", "2 parameters left", "2 parameters left"]
    assert failed(back) == ["gradients reach 3 of the optimizer's parameters, not 2"]


def test_types_and_counts_of_the_control() -> None:
    """Only what grew is put back; a state that grew otherwise cannot be treated."""
    finding = suspected("CMP305")
    values = {"optimizer.0.parameters": 4}

    def planned(**after: object) -> PutBack | NotTested:
        wider = {**values, "optimizer.0.state_bytes": 2000, **after}
        return plan(finding, comparison_of(make_case(control(values=values), resumed(values=wider))))

    cast = planned(**{"optimizer.0.state_dtypes": "float64:2000"})
    assert isinstance(cast, PutBack)
    assert cast.settings == {"0": {"types": ["float32"]}}
    dropped = planned(**{"optimizer.0.parameters": 8})
    assert isinstance(dropped, PutBack)
    assert dropped.settings == {"0": {"parameters": 4}}
    assert dropped.what == "optimizer 0: 4 parameters"
    assert isinstance(planned(), NotThere)
