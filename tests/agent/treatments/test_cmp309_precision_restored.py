"""Precision and memory format are put back."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp309_precision_restored import plan
from ckpt_doctor.facts.treatment import NotTested, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

PRECISION, CHANNELS_LAST = "backend.matmul_precision", "modules.channels_last"

SCRIPT = """
import torch
torch.set_float32_matmul_precision("highest")
model = torch.nn.Conv2d(8, 8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(1, 8, 5, 5)).sum().backward()
    optimizer.step()
print(torch.get_float32_matmul_precision())
print(model.weight.is_contiguous(memory_format=torch.channels_last), model.bias.ndim)
"""


def test_before_the_first_step(treat: Treat) -> None:
    """The setting and the layout of weights are the control's, and the run trains on."""
    restored = treat(SCRIPT, "CMP309", {PRECISION: "medium", CHANNELS_LAST: True})
    assert restored.process.stdout == "medium\nTrue 1\n"
    assert said(restored) == [f"{PRECISION}, {CHANNELS_LAST}"]


def test_what_changed() -> None:
    """Lost precision and a lost layout are put back; types of parameters are not."""
    finding = suspected("CMP309")
    before = {PRECISION: "high", CHANNELS_LAST: 4, "model.dtypes": "bfloat16:9"}

    def planned(**after: object) -> PutBack | NotTested:
        runs = control(values=before), resumed(values={**before, **after})
        return plan(finding, comparison_of(make_case(*runs)))

    lost = planned(**{PRECISION: "highest", CHANNELS_LAST: 0})
    assert isinstance(lost, PutBack)
    assert lost.settings == {PRECISION: "high", CHANNELS_LAST: True}
    assert isinstance(planned(**{"model.dtypes": "float32:9"}), NotTested)
