"""Counters of the whole machine."""

from __future__ import annotations

import os
import sys
import time

import pytest

from ckpt_doctor.signals.samplers import host

NAMES = ("steal_s", "pressure_cpu_s", "pressure_io_s", "pressure_memory_s", "refaults", "swap_ins")


def test_the_machines_counters_go_up() -> None:
    """Between two samples the machine has used at least what this process has, and nothing runs backwards."""
    first = host.sample(1.0)
    began = time.process_time()
    while time.process_time() - began < 0.1:
        pass
    second = host.sample(2.0)
    assert (first.t_s, second.t_s) == (1.0, 2.0)
    cores = os.cpu_count() or 1
    assert 0.05 <= second.busy_s - first.busy_s <= 60 * cores
    for name in NAMES:
        before, after = getattr(first, name), getattr(second, name)
        assert (before is None) == (after is None)
        assert before is None or 0 <= before <= after


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_the_kernel_does_not_tell_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pressure files and vmstat the numbers are None, never 0."""

    def refuse(path: object, *args: object, **kwargs: object) -> object:
        raise PermissionError(path)

    monkeypatch.setattr(host, "open", refuse, raising=False)
    sample = host.sample(1.0)
    assert sample.pressure_cpu_s is None
    assert (sample.refaults, sample.swap_ins) == (None, None)
    assert sample.busy_s > 0
