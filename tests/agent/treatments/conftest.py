"""What tests of treatments share: runs with something put back in them, and the findings that are tested."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.facts.report import Finding, Severity, Side
from ckpt_doctor.facts.treatment import TREATED, UNTREATED
from ckpt_doctor.probe.recording import RecordingWriter
from tests.recorded import Recorded, run_inside

Treat = Callable[..., Recorded]


@pytest.fixture
def treat(tmp_path: Path) -> Treat:
    """Run a script in a process of its own, with a treatment's settings or, where these are None, without."""

    def call(source: str, code: str, settings: Mapping[str, Any] | None, **extra: str) -> Recorded:
        folder = tmp_path / f"recording-{len(list(tmp_path.iterdir()))}"
        RecordingWriter(folder, [sys.executable, "train.py"], None, {})
        (tmp_path / "train.py").write_text(source)
        chosen = None if settings is None else {"code": code, "settings": dict(settings)}
        process = run_inside(
            tmp_path, "train.py", options=AgentOptions(str(folder), treatment=chosen), **extra
        )
        assert process.returncode == 0, process.stderr
        return Recorded(folder, process)

    return call


def said(recorded: Recorded) -> list[str]:
    """What the run says was put back in it."""
    return [str(event.fields["what"]) for event in recorded.events(TREATED)]


def failed(recorded: Recorded) -> list[str]:
    """Why nothing could be put back."""
    return [str(event.fields["why"]) for event in recorded.events(UNTREATED)]


def suspected(code: str, **changes: Any) -> Finding:
    """A finding of a rule, as it is given to the treatment of its cause."""
    usual: dict[str, Any] = {
        "name": "a-cause",
        "severity": Severity.ERROR,
        "side": Side.DATA,
        "summary": "",
        "remedy": "",
        "share_ratio": 0.9,
        "delta_s": 0.01,
    }
    return Finding(code=code, **{**usual, **changes})
