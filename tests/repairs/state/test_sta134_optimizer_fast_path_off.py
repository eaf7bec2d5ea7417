"""The choice of the optimizer's path is torch's own again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.repairs.conftest import Treat, codes, load, trained


@pytest.mark.parametrize(
    ("flags", "foreach"),
    [
        ({"foreach": False}, None),
        ({"foreach": False, "fused": True}, False),
        ({"foreach": False, "differentiable": True}, False),
        ({"foreach": True}, True),
    ],
)
def test_flags(treat: Treat, tmp_path: Path, flags: dict[str, Any], foreach: bool | None) -> None:
    """Only a group that is slow for no other reason is changed, in this flag alone."""
    model, optimizer = trained()
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 2}
    before = {**state["optimizer"]["param_groups"][0], **flags}
    state["optimizer"]["param_groups"][0].update(flags)
    torch.save(state, tmp_path / "x.pt")
    outcome = treat(tmp_path / "x.pt")
    assert codes(outcome) == (["STA134"] if foreach is None else [])
    assert load(outcome)["optimizer"]["param_groups"][0] == {**before, "foreach": foreach}
