"""The agent and the probe share a few numbers through a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.agent.control import NEVER, Control


def test_both_sides_see_the_same_numbers(tmp_path: Path) -> None:
    """What one side writes, the other reads, and no field touches another."""
    agent = Control(tmp_path / "control-1", create=True)
    probe = Control(tmp_path / "control-1")
    for field in ("pid", "rank", "steps", "held", "hold_at", "hold_on_save", "fingerprints"):
        assert probe.get(field) == 0
    agent.put("steps", 41)
    probe.put("hold_at", NEVER)
    assert probe.get("steps") == 41
    assert agent.get("hold_at") == NEVER
    assert [agent.get(field) for field in ("pid", "rank", "held", "hold_on_save", "fingerprints")] == [0] * 5
    agent.close()
    assert probe.get("steps") == 41
    probe.close()


@given(value=st.integers(min_value=0, max_value=2**64 - 1))
def test_any_64_bit_number_fits(tmp_path_factory: pytest.TempPathFactory, value: int) -> None:
    """A field holds every unsigned 64-bit number."""
    control = Control(tmp_path_factory.mktemp("control") / "control-1", create=True)
    control.put("steps", value)
    assert control.get("steps") == value
    control.close()


def test_a_file_that_is_not_there_yet(tmp_path: Path) -> None:
    """The probe's side makes no file; one that is still empty is refused like one that is missing."""
    with pytest.raises(OSError, match="No such file"):
        Control(tmp_path / "control-1")
    (tmp_path / "control-2").touch()
    with pytest.raises((OSError, ValueError)):
        Control(tmp_path / "control-2")
