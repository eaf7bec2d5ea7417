"""A run gets the doctor's environment, with what was asked for."""

from __future__ import annotations

import os

import pytest

from ckpt_doctor.agent.heap import STEADY_HEAP
from ckpt_doctor.facts.treatment import PutBack, Trial
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.probe.variables import THREAD_VARIABLES, variables

PLAIN = ProbeRequest(command=("train",))


def test_nothing_is_changed_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run is started as the user would."""
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert variables(PLAIN, None, second=False) == dict(os.environ)


def test_what_was_asked_for() -> None:
    """Threads are fixed for every library that has some, and the heap's thresholds."""
    asked = ProbeRequest(command=("train",), threads=2, steady_heap=True)
    given = variables(asked, None, second=False)
    assert {given[name] for name in THREAD_VARIABLES} == {"2"}
    assert STEADY_HEAP.items() <= given.items()


def test_a_second_run_has_a_port_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one holds the launcher's; a port that was not given is only a default."""
    monkeypatch.delenv("MASTER_PORT", raising=False)
    monkeypatch.delenv("PET_MASTER_PORT", raising=False)
    given = variables(PLAIN, None, second=True)
    assert int(given["PET_MASTER_PORT"]) > 1023
    assert "MASTER_PORT" not in given
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert variables(PLAIN, None, second=True)["MASTER_PORT"] != "29500"


def test_what_a_trial_puts_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables are set, or taken away, and win over what was asked for."""
    monkeypatch.setenv("LEFT", "over")
    put_back = PutBack(what="threads of the control", environment={"OMP_NUM_THREADS": "4", "LEFT": None})
    trial = Trial(code="HST401", is_lasting=True, put_back=put_back, cannot="It takes nothing else away.")
    given = variables(ProbeRequest(command=("train",), threads=2), trial, second=True)
    assert given["OMP_NUM_THREADS"] == "4"
    assert "LEFT" not in given
