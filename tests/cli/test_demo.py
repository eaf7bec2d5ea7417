"""`demo` probes a script that comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.cli import demo
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report
from ckpt_doctor.probe.request import ProbeRequest
from tests.cli.conftest import Cli
from tests.report.sample import probe_report
from tests.structure.source import ROOT


def test_the_demo_probes_its_script(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled script is run in a folder of its own, which is gone at the end; the report stays."""
    calls: list[ProbeRequest] = []

    def answer(request: ProbeRequest, policy: Policy, progress: Any) -> Report:
        assert request.output is not None
        assert request.output.parent.is_dir()
        calls.append(request)
        return probe_report()

    monkeypatch.setattr(doctor, "probe", answer)
    outcome = cli("demo", "-o", "verdict.md")
    assert outcome.code == 1
    assert outcome.out.startswith("SLOWER")
    assert Path("verdict.md").read_text().startswith("## SLOWER")
    request = calls[0]
    assert Path(request.command[1]).is_file()
    assert "{" not in "".join(request.command)
    assert request.output is not None
    assert not request.output.parent.exists()


def test_what_is_missing_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a library that the script needs, or without the script, the demo says so."""
    monkeypatch.setattr(demo, "_NEEDS", ("no_such_library",))
    outcome = cli("demo")
    assert outcome.code == 2
    assert "no_such_library" in outcome.err
    monkeypatch.setattr(demo, "_NEEDS", ())
    monkeypatch.setattr(demo, "_SCRIPT", "gone.py")
    assert "demo scripts" in cli("demo").err


def test_the_wheel_carries_the_scripts() -> None:
    """What the demo looks for in an installed package is put there by the build."""
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included[f"fixtures/scripts/{demo._SCRIPT}"] == f"ckpt_doctor/demo_scripts/{demo._SCRIPT}"
    assert (ROOT / "fixtures" / "scripts" / demo._SCRIPT).is_file()
