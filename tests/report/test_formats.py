"""Formats are found by scanning."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ckpt_doctor import report
from tests.report.sample import probe_report


def test_every_module_is_a_format() -> None:
    """Each format loads, has endings of its own and renders a report to text that ends its last line."""
    suffixes: list[str] = []
    for name in report.format_names():
        fmt = report.load_format(name)
        suffixes += fmt.suffixes
        assert fmt.render(probe_report(), width=80, colour=False).endswith("\n")
    assert {"json", "text"} <= set(report.format_names())
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix.startswith(".") for suffix in suffixes)


def test_the_ending_names_the_format() -> None:
    """A file's ending leads to its format, in either case, and a foreign one to none."""
    fmt = report.format_for_suffix(".JSON")
    assert fmt is not None
    assert fmt.name == "json"
    assert report.format_for_suffix(".docx") is None


def test_unknown_and_malformed_formats_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that is no format is a KeyError; a file that is no format says what it lacks."""
    with pytest.raises(KeyError):
        report.load_format("terminal")
    (tmp_path / "broken_format.py").write_text("def render(report):\n    return ''\n")
    monkeypatch.setattr(report, "__path__", [*report.__path__, str(tmp_path)])
    with pytest.raises(ValueError, match="SUFFIXES"):
        report.load_format("broken_format")
    sys.modules.pop("ckpt_doctor.report.broken_format", None)


def test_a_new_file_is_a_new_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file with render and SUFFIXES is all that a format needs."""
    (tmp_path / "shout.py").write_text(
        "SUFFIXES = ('.shout',)\n\ndef render(report):\n    return report.verdict.sentence.upper() + '\\n'\n"
    )
    monkeypatch.setattr(report, "__path__", [*report.__path__, str(tmp_path)])
    assert "shout" in report.format_names()
    fmt = report.load_format("shout")
    assert fmt.render(probe_report(), width=80, colour=True) == probe_report().verdict.sentence.upper() + "\n"
    sys.modules.pop("ckpt_doctor.report.shout", None)
