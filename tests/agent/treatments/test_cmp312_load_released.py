"""What a load has returned is released before the first step."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp312_load_released import plan
from ckpt_doctor.facts.treatment import NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, event, make_case, resumed

SCRIPT = """
import weakref, torch
model = torch.nn.Linear(4, 1)
torch.save({"model": model.state_dict(), "extra": {"big": torch.ones(1000)}}, "checkpoint.pt")
checkpoint = torch.load("checkpoint.pt")
big = weakref.ref(checkpoint["extra"]["big"])
weight = checkpoint["model"]["weight"].clone()
model.load_state_dict(checkpoint["model"], assign=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print(len(checkpoint), big() is None, torch.equal(model.weight, weight))
"""


def test_the_dictionary_is_empty_and_the_model_is_not(treat: Treat) -> None:
    """Memory that only the dictionary held is free; tensors that became the model's are not touched."""
    released = treat(SCRIPT, "CMP312", {})
    assert released.process.stdout == "0 True True\n"
    assert said(released) == ["2 entries released"]


def test_without_a_load() -> None:
    """There is nothing to release."""
    finding = suspected("CMP312")
    loaded = resumed(events=[event("load", 0, 0.1, path="ckpt.pt")])
    assert isinstance(plan(finding, comparison_of(make_case(control(), loaded))), PutBack)
    assert isinstance(plan(finding, comparison_of(make_case(control(), resumed()))), NotThere)
