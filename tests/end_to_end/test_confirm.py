"""Taking a cause away gives back what it costs, for every training script whose cause can be taken away."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.cases import ProbeCase, cases, probe
from tests.benchmarks.confirm import LEAST_SHARE, WITHOUT_INDICES, WRONG, removable

CASES = {case.name: case for case in cases()}

pytestmark = pytest.mark.long


def tested(case: ProbeCase, folder: Path, *options: str) -> dict[str, Any]:
    """The findings that were tested, by code."""
    if case.missing:
        pytest.skip(f"needs {', '.join(case.missing)}")
    answer = probe(case, folder / "probe", folder / "data", options)
    assert answer.status is not None, answer.message
    report = json.loads((folder / "probe/report.json").read_text("utf-8"))
    return {f["code"]: f["confirmation"] for f in report["findings"] if f["confirmation"] is not None}


@pytest.mark.parametrize("case", removable(), ids=lambda case: case.name)
def test_the_loss_comes_back(case: ProbeCase, tmp_path: Path) -> None:
    """At least four fifths of what the cause costs, which confirms it."""
    confirmation = tested(case, tmp_path, "--confirm")[case.cause]
    assert confirmation["share_ratio"] is not None, confirmation["sentence"]
    assert confirmation["share_ratio"] >= LEAST_SHARE, confirmation["sentence"]
    assert confirmation["confirmed"] is True, confirmation["sentence"]


@pytest.mark.parametrize("name", sorted(WITHOUT_INDICES))
def test_what_cannot_be_taken_away(name: str, tmp_path: Path) -> None:
    """It is said why not, and the finding stays as it was."""
    confirmation = tested(CASES[name], tmp_path, "--confirm")["DAT202"]
    assert confirmation["confirmed"] is None
    assert confirmation["sentence"].startswith("not tested by removal: ")


@pytest.mark.parametrize(("name", "suspect"), WRONG)
def test_a_wrong_suspect(name: str, suspect: str, tmp_path: Path) -> None:
    """It gives nothing back, and is not confirmed."""
    confirmation = tested(CASES[name], tmp_path, "--suspect", suspect)[suspect]
    assert confirmation["confirmed"] is False, confirmation["sentence"]
    assert confirmation["sentence"].startswith("not confirmed: ")
