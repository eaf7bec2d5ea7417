"""Rules and signals are well formed, and those that were promised are there."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import re
from pathlib import Path

import pytest

from ckpt_doctor.checks import engine
from ckpt_doctor.checks.engine import Rule, catalogue
from ckpt_doctor.signals import hooks
from ckpt_doctor.signals.contract import Signal
from tests.structure.source import ROOT

FAMILIES = {
    "state": ("STA1",),
    "data": ("DAT2",),
    "compute": ("CMP3",),
    "host": ("HST4",),
    "work": ("WRK5",),
    "measurement": ("MSR9",),
}

PROMISED = {
    *("DAT201", "DAT202", "DAT203", "DAT204", "DAT205", "DAT206", "DAT207", "DAT209"),
    *("CMP301", "CMP302", "CMP304", "CMP305", "CMP306", "CMP307", "CMP308", "CMP309", "CMP310"),
    *("CMP311", "CMP312", "CMP313", "CMP314", "CMP315", "CMP317", "CMP319"),
    *("HST401", "HST402", "HST403", "HST404", "WRK501", "WRK503", "WRK504"),
    *("MSR901", "MSR902", "MSR903", "MSR904", "MSR905", "MSR906"),
    *("STA101", "STA102", "STA103", "STA104", "STA111", "STA112", "STA113", "STA131", "STA134"),
}

_UNITS = re.compile(r"(s|count|bytes|ratio|event|digest)(/\w+)?")
_THRESHOLD = re.compile(r"_?(?!SHOWN\b)[A-Z][A-Z0-9_]*(: \w+)? = [\d.]")
"""A number at the top of a module; how many examples are shown decides nothing."""
_SIDES = {"data", "compute", "host", "work"}


def test_the_promised_rules_are_there() -> None:
    """Codes are stable: none of them ever goes, and none is given twice."""
    codes = [rule.code for rule in catalogue()]
    assert set(codes) >= PROMISED
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: rule.code)
def test_a_rule_is_well_formed(rule: Rule) -> None:
    """A rule lies in its family's folder, has a page of text under every heading, and a test of its own."""
    family = rule.module.__name__.split(".")[2]
    assert rule.code.startswith(FAMILIES[family])
    assert rule.doc.partition("\n\n")[0].strip()
    for heading in engine.HEADINGS:
        body = rule.doc.partition(f"{heading}\n{'-' * len(heading)}\n")[2]
        assert len(body.partition("\n---")[0].split()) >= 5, f"{rule.code}: nothing is said under {heading}"
    tests = (ROOT / "tests" / "checks" / family).glob("test_*.py")
    assert any(_names(rule, path) for path in tests), f"{rule.code} has no test in tests/checks/{family}"


def _names(rule: Rule, path: Path) -> bool:
    return path.stem == f"test_{rule.module.__name__.rpartition('.')[2]}" or rule.code in path.read_text(
        "utf-8"
    )


@pytest.mark.parametrize("rule", catalogue(), ids=lambda rule: rule.code)
def test_thresholds_are_documented(rule: Rule) -> None:
    """Numbers that a rule decides by stand at the top of its module, with a reason below them."""
    lines = inspect.getsource(rule.module).splitlines()
    for line, following in itertools.pairwise(lines):
        if _THRESHOLD.match(line) and not _THRESHOLD.match(following):
            assert following.startswith('"""'), f"{rule.code}: {line} has no reason below it"


@pytest.mark.parametrize("name", [info.name for info in pkgutil.iter_modules(hooks.__path__)])
def test_a_hook_is_well_formed(name: str) -> None:
    """A hook names its signals with unit and side, what it needs, and how it is installed."""
    module = importlib.import_module(f"{hooks.__name__}.{name}")
    assert module.SIGNALS
    assert isinstance(module.NEEDS, tuple)
    assert list(inspect.signature(module.install).parameters) == ["recorder", "module"]
    for signal in module.SIGNALS:
        assert isinstance(signal, Signal)
        assert _UNITS.fullmatch(signal.unit), f"{signal.name}: {signal.unit} is no unit"
        assert signal.side in _SIDES
        assert signal.what


def test_no_signal_is_measured_twice() -> None:
    """Each signal has one hook."""
    names = [
        signal.name
        for info in pkgutil.iter_modules(hooks.__path__)
        for signal in importlib.import_module(f"{hooks.__name__}.{info.name}").SIGNALS
    ]
    assert len(names) == len(set(names))
