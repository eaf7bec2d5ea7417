"""Formats are found by scanning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_doctor import report
from ckpt_doctor.facts.treatment import Confirmation
from tests.report.sample import cold_cache, inspect_report, measured_report, probe_report

PROMISED = {"github", "html", "json", "junit", "markdown", "sarif", "text"}


def test_every_module_is_a_format() -> None:
    """Each format loads, and no two claim the same ending."""
    suffixes: list[str] = []
    for name in report.format_names():
        suffixes += report.load_format(name).suffixes
    assert set(report.format_names()) >= PROMISED
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix.startswith(".") for suffix in suffixes)


@pytest.mark.parametrize("name", report.format_names())
@pytest.mark.parametrize("make", [probe_report, inspect_report, measured_report])
def test_every_format_takes_every_report(name: str, make: type, tmp_path: Path) -> None:
    """Whatever a command found out, each format renders it, and ends its last line."""
    fmt = report.load_format(name)
    for library in fmt.needs:
        pytest.importorskip(library)
    if fmt.is_folder:
        fmt.write(make(), tmp_path / "out")
        assert (tmp_path / "out").is_dir()
    else:
        assert fmt.render(make(), width=80, colour=False).endswith("\n")


def test_the_ending_names_the_format() -> None:
    """A file's ending leads to its format, in either case, the longest first, and a foreign one to none."""
    for file, name in (
        ("a.JSON", "json"),
        ("runs.v1/a.md", "markdown"),
        ("a.sarif", "sarif"),
        ("a.xml", "junit"),
        ("a.html", "html"),
        ("a.txt", "text"),
    ):
        fmt = report.format_for_file(file)
        assert fmt is not None
        assert fmt.name == name
    assert report.format_for_file("report.docx") is None
    assert report.format_for_file("json") is None


@pytest.mark.parametrize(
    "source", ["def render(report):\n    return ''\n", "SUFFIXES = ('.x',)\n", "SUFFIXES = '.x'\n"]
)
def test_unknown_and_malformed_formats_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """A name that is no format is a KeyError; a file that is no format says what it lacks."""
    with pytest.raises(KeyError):
        report.load_format("terminal")
    (tmp_path / "broken_format.py").write_text(source)
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


def test_naming_the_formats_imports_none() -> None:
    """The choices of --format come from the folder's listing: a format costs nothing until it is used."""
    code = (
        "import sys; from ckpt_doctor import report; names = report.format_names(); "
        "sys.exit(any(f'ckpt_doctor.report.{name}' in sys.modules for name in names))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["html", "json", "junit", "markdown", "sarif", "text"])
def test_what_came_of_a_test_reaches_every_report(name: str) -> None:
    """A cause that was taken away on trial is told with the outcome, wherever findings are told in full."""
    tested = Confirmation(confirmed=None, sentence="open: the numbers do not settle it")
    fmt = report.load_format(name)
    for library in fmt.needs:
        pytest.importorskip(library)
    text = fmt.render(probe_report(findings=(cold_cache(confirmation=tested),)), width=120, colour=False)
    assert "the numbers do not settle it" in text
