"""Precision and memory format are put back."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp309_precision_restored import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

PRECISION, CHANNELS_LAST, DEFAULT = "backend.matmul_precision", "modules.channels_last", "default_dtype"

SCRIPT = """
import torch
torch.set_default_dtype(torch.float64)
torch.set_float32_matmul_precision("highest")
model = torch.nn.Conv2d(8, 8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(torch.ones(1, 8, 5, 5))
    out.sum().backward()
    optimizer.step()
print(torch.get_float32_matmul_precision(), model.weight.dtype, out.dtype)
print(model.weight.is_contiguous(memory_format=torch.channels_last), model.bias.ndim)
"""


def test_what_the_script_sets_otherwise(treat: Treat) -> None:
    """Settings, types, autocast and the layout of weights are the control's, and the run trains on."""
    settings = {PRECISION: "medium", CHANNELS_LAST: True, DEFAULT: "float32", "autocast": False}
    restored = treat(SCRIPT, "CMP309", settings)
    assert restored.process.stdout == "medium torch.float32 torch.float32\nTrue 1\n"
    assert set(said(restored)) == {
        "float32 kept as the default type",
        "autocast left off",
        ", ".join(settings),
    }


def test_what_changed() -> None:
    """Lost precision, a lost layout and new autocast are put back; types of parameters are not."""
    finding = suspected("CMP309")
    before = {PRECISION: "high", CHANNELS_LAST: 4, "model.dtypes": "bfloat16:9", DEFAULT: "float32"}

    def planned(regions: float = 0, **after: object) -> PutBack | NotTested:
        runs = (
            control(values=before),
            resumed(values={**before, **after}, counters={"autocast_bfloat16": regions}),
        )
        return plan(finding, comparison_of(make_case(*runs)))

    lost = planned(**{PRECISION: "highest", CHANNELS_LAST: 0})
    assert isinstance(lost, PutBack)
    assert lost.settings == {PRECISION: "high", CHANNELS_LAST: True}
    wider = planned(regions=1, **{DEFAULT: "float64"})
    assert isinstance(wider, PutBack)
    assert wider.settings == {DEFAULT: "float32", "autocast": False}
    assert wider.what == "default_dtype=float32, autocast=False"
    assert isinstance(planned(**{"model.dtypes": "float32:9"}), NotThere)
