"""The treatments are found by scanning their folder, and are well formed."""

from __future__ import annotations

import inspect
import pkgutil

import pytest

from ckpt_doctor.agent import treatments as package
from ckpt_doctor.agent.treating import NO_TREATMENT, codes, treatment_of, trial
from ckpt_doctor.checks.engine import catalogue
from ckpt_doctor.facts.treatment import NotTested, Trial
from tests.agent.treatments.conftest import suspected
from tests.builders import comparison_of, control, make_case, resumed

PROMISED = {
    *("DAT201", "DAT202", "DAT203", "DAT204", "DAT205", "CMP302", "CMP305", "CMP306", "CMP307", "CMP309"),
    *("CMP310", "CMP312", "CMP314", "CMP317", "HST401"),
}


def test_every_module_is_the_treatment_of_a_rule() -> None:
    """Each file of the folder belongs to one rule, and none that was promised is missing."""
    assert len(codes()) == len(list(pkgutil.iter_modules(package.__path__)))
    assert set(codes()) <= {rule.code for rule in catalogue()}
    assert set(codes()) >= PROMISED


@pytest.mark.parametrize("code", codes())
def test_a_treatment_is_well_formed(code: str) -> None:
    """It says what it cannot take away, plans without doing anything, and installs what it needs."""
    treatment = treatment_of(code)
    assert treatment is not None
    assert treatment.cannot.endswith(".")
    assert list(inspect.signature(treatment.plan).parameters) == ["finding", "comparison"]
    assert bool(treatment.needs) == (treatment.install is not None)
    if treatment.install is not None:
        assert list(inspect.signature(treatment.install).parameters) == ["recorder", "module", "settings"]


def test_a_cause_that_nothing_takes_away() -> None:
    """It is said to be one."""
    comparison = comparison_of(make_case(control(), resumed()))
    assert trial(suspected("WRK501"), comparison) == NotTested(NO_TREATMENT)


def test_trials_about_the_start_and_about_every_step() -> None:
    """A finding without a share of the slowdown is about the start, where its cause can be paid once."""
    cache = {"env.TORCHINDUCTOR_CACHE_DIR": "/cache"}
    comparison = comparison_of(
        make_case(control(values=cache), resumed(values={"env.TORCHINDUCTOR_CACHE_DIR": "/other"}))
    )
    at_start = trial(suspected("CMP302", share_ratio=None), comparison)
    lasting = trial(suspected("DAT203", share_ratio=None), comparison)
    assert isinstance(at_start, Trial)
    assert isinstance(lasting, Trial)
    assert (at_start.is_lasting, lasting.is_lasting) == (False, True)
    assert lasting.name == "confirm-DAT203"
