"""Storages and step counters that lay on a GPU are placed on the CPU, which needs no GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ckpt_doctor.facts.repair import RepairOutcome
from ckpt_doctor.readers.inspection import read_checkpoint
from tests.repairs.conftest import FIXTURES, Treat, codes, found, is_equal, load, relocated, resumed


def devices(outcome: RepairOutcome) -> dict[str, str | None]:
    """Where the copy's tensors are placed, by key."""
    assert outcome.output is not None
    return {tensor.key: tensor.device for tensor in read_checkpoint(outcome.output).tensors}


def test_everything_goes_to_the_cpu(treat: Treat, tmp_path: Path) -> None:
    """The copy is placed on the CPU throughout, and trains as the checkpoint does."""
    outcome = treat(relocated(FIXTURES / "plain.pt", tmp_path / "x.pt"))
    assert codes(outcome) == ["STA133", "STA142"]
    assert set(devices(outcome).values()) == {"cpu"}
    assert not {"STA133", "STA142"} & found(outcome)
    assert is_equal(resumed(load(outcome)), resumed(torch.load(FIXTURES / "plain.pt", weights_only=True)))


def test_only_the_step_counters(treat: Treat, tmp_path: Path) -> None:
    """The counters alone can be placed on the CPU; the moments stay where they lay."""
    outcome = treat(relocated(FIXTURES / "plain.pt", tmp_path / "x.pt"), only=frozenset({"STA133"}))
    for key, device in devices(outcome).items():
        assert device == ("cpu" if key.endswith(".step") else "cuda:0"), key


def test_another_repair_keeps_placements(treat: Treat, tmp_path: Path) -> None:
    """A copy that is repaired in another way is placed as before."""
    outcome = treat(relocated(FIXTURES / "wide_state.pt", tmp_path / "x.pt"), only=frozenset({"STA131"}))
    assert codes(outcome) == ["STA131"]
    assert set(devices(outcome).values()) == {"cuda:0"}


def test_counters_of_fused_optimizers_stay(treat: Treat, tmp_path: Path) -> None:
    """A fused optimizer wants its counters on the device."""
    state: dict[str, Any] = torch.load(FIXTURES / "plain.pt", weights_only=True)
    state["optimizer"]["param_groups"][0]["fused"] = True
    torch.save(state, tmp_path / "cpu.pt")
    outcome = treat(relocated(tmp_path / "cpu.pt", tmp_path / "x.pt"), skipped=frozenset({"STA142"}))
    assert not codes(outcome)
