"""The changes between two checkpoints on a screen."""

from __future__ import annotations

from ckpt_doctor.facts.checkpoint_comparison import Change, CheckpointComparison, SizeChange
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.report.terminal.checkpoint_changes import write_changes
from ckpt_doctor.report.terminal.screen import Screen


def told(comparison: CheckpointComparison) -> str:
    """What is written about it."""
    screen = Screen(width=100, colour=False)
    write_changes(screen, comparison)
    return screen.text()


def test_all_kinds_of_changes() -> None:
    """States, properties and sizes are told, with a dash for what is not there."""
    text = told(
        CheckpointComparison(
            "a.pt",
            "b.pt",
            {StateKind.SCALER: "scaler"},
            {StateKind.EMA: "ema"},
            (Change("optimizer group 0: fused", None, "True"),),
            (SizeChange("model", 1000, 3000),),
        )
    )
    lines = [line.split() for line in text.splitlines()]
    assert ["lost:", "scaler"] in lines
    assert ["gained:", "ema"] in lines
    assert ["optimizer", "group", "0:", "fused", "-", "True"] in lines
    assert ["model:", "bytes", "1.00", "kB", "3.00", "kB", "+2,000"] in lines


def test_no_change_and_too_many() -> None:
    """Equal files are said to be so; of very many changes the count is told."""
    assert "nothing that can be told" in told(CheckpointComparison("a", "b", {}, {}, (), ()))
    sizes = tuple(SizeChange(f"k{n}", n, n + 1) for n in range(1000))
    text = told(CheckpointComparison("a", "b", {}, {}, (), sizes))
    assert len(text.splitlines()) < 40
    assert "976 more" in text
