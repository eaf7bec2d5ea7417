"""What the machine is."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import Train
from tests.recorded import MODEL


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_machine_stands_in_the_fingerprint(train: Train) -> None:
    """Processor, memory and system are known; what this machine does not have is absent, not empty."""
    values = train(MODEL + "for _ in range(3):\n    step()\n").rank.fingerprints[-1].values
    assert values["machine.cpu"]
    assert isinstance(values["machine.memory_gib"], int)
    assert values["machine.memory_gib"] >= 1
    assert str(values["machine.system"]).startswith("Linux ")
    assert "" not in [value for name, value in values.items() if name.startswith("machine.")]
