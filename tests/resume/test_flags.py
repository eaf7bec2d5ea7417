"""Settings come back, and what is changed for it is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from ckpt_doctor.resume import flags
from ckpt_doctor.resume.plain import plain_copy


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave the settings as they were."""
    before = flags.flags_state()
    yield
    flags.set_flags(before)


def test_settings_come_back() -> None:
    """Each setting that differs is put back and named; the rest is not touched."""
    torch.backends.cudnn.benchmark = True
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("high")
    torch.set_default_dtype(torch.float64)
    saved = plain_copy(flags.flags_state(), "flags")
    torch.backends.cudnn.benchmark = False
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_default_dtype(torch.float32)
    notes = flags.set_flags(saved)
    assert torch.backends.cudnn.benchmark
    assert torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_default_dtype() == torch.float64
    assert "backends.cudnn.benchmark was False and is True again" in notes
    assert flags.flags_state() == saved
    assert flags.set_flags(saved) == ()


def test_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of threads comes back, but not beyond the CPUs that are here."""
    now = torch.get_num_threads()
    monkeypatch.setattr(flags, "_cpus", lambda: now + 1)
    assert flags.set_flags({flags.THREADS: now + 1}) == (f"num_threads was {now} and is {now + 1} again",)
    assert torch.get_num_threads() == now + 1
    (note,) = flags.set_flags({flags.THREADS: now + 9})
    assert note == f"num_threads stays {now + 1}: {now + 9} at the save, but only {now + 1} CPUs are here"


def test_unknown_settings_are_passed_over() -> None:
    """A setting of another torch is no error."""
    assert flags.set_flags({"backends.quantum.enabled": True}) == ()
