"""Compiled code is looked for in the control's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.agent.treatments.cmp302_cache_found import cost_s, plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, event, make_case, resumed

FOLDER, DISABLED = "env.TORCHINDUCTOR_CACHE_DIR", "env.TORCHINDUCTOR_FORCE_DISABLE_CACHES"

SCRIPT = """
import os, torch
import torch._inductor.config
os.environ["TORCHINDUCTOR_CACHE_DIR"] = "elsewhere"
torch._inductor.config.force_disable_caches = True
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
compiled = torch.compile(model, backend="eager")
for _ in range(3):
    optimizer.zero_grad()
    compiled(torch.ones(2, 4)).sum().backward()
    optimizer.step()
print(os.environ["TORCHINDUCTOR_CACHE_DIR"], torch._inductor.config.force_disable_caches)
"""


def test_a_script_that_sets_another_folder(treat: Treat, tmp_path: Path) -> None:
    """Whatever the script has set, compilations look into the control's folder, and into caches at all."""
    found = treat(SCRIPT, "CMP302", {"folder": str(tmp_path), "enable": True})
    assert found.process.stdout == f"{tmp_path} False\n"
    assert said(found) == ["cache folder set"]


def test_the_control_s_folder() -> None:
    """It is put back where it differs, and with it whether caches are used."""
    before = {FOLDER: "/cache"}
    finding = suspected("CMP302", share_ratio=None)

    def planned(**after: object) -> PutBack | NotTested:
        return plan(
            finding, comparison_of(make_case(control(values=before), resumed(values={**before, **after})))
        )

    moved = planned(**{FOLDER: "/other"})
    assert isinstance(moved, PutBack)
    assert moved.settings == {"folder": "/cache", "enable": False}
    assert moved.environment["TORCHINDUCTOR_CACHE_DIR"] == "/cache"
    off = planned(**{DISABLED: "1"})
    assert isinstance(off, PutBack)
    assert off.settings == {"folder": "/cache", "enable": True}
    assert off.environment["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] is None
    assert isinstance(planned(), NotThere)


def test_the_cost_at_the_start() -> None:
    """All compilations before the window count, and none after it."""
    compiled = [event("compile", 0, 2.0), event("compile", 1, 1.5), event("compile", 150, 9.0)]
    assert cost_s(comparison_of(make_case(control(), resumed(events=compiled)))) == pytest.approx(3.5)
    assert cost_s(comparison_of(make_case(control(), resumed()))) is None
