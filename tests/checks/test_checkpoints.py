"""What is known of the loaders beside a checkpoint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Severity
from ckpt_doctor.facts.states import StateKind
from tests.builders import control, event, make_case, make_checkpoint, one, resumed

HELD = (StateKind.MODEL, StateKind.OPTIMIZER)
LACKED = (StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG, StateKind.DATALOADER_POSITION)
PLAIN: dict[str, Any] = {"counters": {"batches": 0}, "digests": None}


@pytest.mark.parametrize("code", ["STA111", "STA112"])
def test_a_run_without_a_loader_misses_no_sampler(code: str) -> None:
    """Where both runs are known to have no loader the absence is info; else, or if demanded, it is more."""
    facts = make_checkpoint(HELD, LACKED)
    blind = {**PLAIN, "not_measured": {"loader": "AttributeError: x"}}
    fed = {**PLAIN, "events": [event("loader", 0, None)]}
    cases = [make_case(control(**kind), resumed(**kind)) for kind in (PLAIN, blind, fed, {"digests": None})]
    levels = [one(judge(replace(case, checkpoints=(facts,)))[0], code).severity for case in cases]
    assert levels == [Severity.INFO, Severity.WARNING, Severity.WARNING, Severity.WARNING]
    required = frozenset(kind.value for kind in LACKED)
    demanded = replace(cases[0], checkpoints=(facts,), required=required)
    assert one(judge(demanded)[0], code).severity is Severity.ERROR
