"""The options of the optimizers' groups are put back."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp306_options_restored import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

SCRIPT = """
import torch
model = torch.nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
def step():
    optimizer.zero_grad()
    model(torch.ones(3, 4)).square().sum().backward()
    optimizer.step()
saved = optimizer.state_dict()
for group in saved["param_groups"]:
    del group["fused"]
    group["foreach"], group["amsgrad"] = False, True
optimizer.load_state_dict(saved)
step(), step()
group = optimizer.param_groups[0]
print(group["fused"], group["foreach"], group["amsgrad"])
print(sorted({name for state in optimizer.state.values() for name in state}))
"""


def test_what_a_load_brought_back(treat: Treat) -> None:
    """The fast path is taken again from the first step on."""
    settings = {"0": {"0": {"fused": True, "foreach": None, "amsgrad": False}}}
    restored = treat(SCRIPT, "CMP306", settings)
    assert restored.process.stdout.splitlines() == [
        "True None False",
        "['exp_avg', 'exp_avg_sq', 'step']",
    ]
    assert said(restored) == ["options of group 0 set"]


def test_options_that_can_be_put_back() -> None:
    """Paths and extra work are, another class is not."""
    finding = suspected("CMP306")

    def planned(**after: object) -> PutBack | NotTested:
        return plan(finding, comparison_of(make_case(control(), resumed(values=after))))

    changed = planned(**{"optimizer.0.group.0.foreach": False, "optimizer.0.group.0.amsgrad": True})
    assert isinstance(changed, PutBack)
    assert changed.settings == {"0": {"0": {"foreach": None, "amsgrad": False}}}
    assert isinstance(planned(**{"optimizer.0.class": "SGD"}), NotThere)
