"""A report reaches standard output, files and the shell."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from ckpt_doctor.cli import output
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.errors import MachineError, UsageError
from ckpt_doctor.facts.policy import Policy
from tests.report.sample import probe_report


def test_several_formats_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files get the format that their ending names, others that of --format; standard output stays."""
    files = [tmp_path / "report.json", tmp_path / "report.txt", tmp_path / "report.log"]
    code = Destinations("text", [str(file) for file in files]).deliver(probe_report(), Policy())
    assert code == ExitCode.FINDINGS
    assert capsys.readouterr().out.startswith("SLOWER")
    assert json.loads(files[0].read_text())["verdict"]["cause"] == "DAT203"
    assert files[1].read_text().startswith("SLOWER")
    assert files[2].read_text() == files[1].read_text()


def test_json_on_standard_output_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    """With --format json, standard output holds the document and nothing else."""
    Destinations("json", None).deliver(probe_report(), Policy())
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_what_cannot_be_written_is_told_before_the_work(tmp_path: Path) -> None:
    """A folder, a missing folder and a format that does not exist are refused at once."""
    with pytest.raises(UsageError, match="is a folder"):
        Destinations("text", [str(tmp_path)])
    with pytest.raises(UsageError, match="does not exist"):
        Destinations("text", [str(tmp_path / "no" / "report.json")])
    with pytest.raises(UsageError, match="no format 'xml'") as caught:
        Destinations("xml", None)
    assert "json" in str(caught.value.hint)


def test_a_disk_that_fills_up_is_told(tmp_path: Path) -> None:
    """A file that turns out not to be writable is an error of usage with the reason."""
    target = tmp_path / "report.json"
    destinations = Destinations("text", [str(target)])
    target.mkdir()
    with pytest.raises(UsageError, match="cannot be written"):
        destinations.deliver(probe_report(), Policy())


@pytest.mark.parametrize(
    ("variables", "terminal", "wanted"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": ""}, True, True),
    ],
)
def test_colour(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], terminal: bool, wanted: bool
) -> None:
    """Terminals get colour unless NO_COLOR or TERM=dumb say otherwise; pipes get none."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal)
    assert output.wants_colour() is wanted


@pytest.mark.parametrize(
    ("columns", "width"), [("132", 132), ("0", 80), ("-5", 80), ("wide", 80), ("9" * 5000, 80), (None, 80)]
)
def test_width(monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int) -> None:
    """COLUMNS decides how wide the text is, where it is a number; a pipe has 80 columns."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    assert output.terminal_width() == width


def test_the_width_of_a_terminal() -> None:
    """Without COLUMNS the terminal itself is asked."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 101, 0, 0))
    script = "import sys; from ckpt_doctor.cli.output import terminal_width; sys.exit(terminal_width())"
    variables = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    process = subprocess.run([sys.executable, "-c", script], stdout=follower, env=variables, check=False)
    os.close(leader)
    os.close(follower)
    assert process.returncode == 101


def test_the_format_may_stand_before_the_file(tmp_path: Path) -> None:
    """FORMAT:FILE wins over the ending; what stands before another colon belongs to the path."""
    files = [f"markdown:{tmp_path / 'summary'}", f"sarif:{tmp_path / 'a.json'}", str(tmp_path / "a:b.xml")]
    Destinations("text", files).deliver(probe_report(), Policy())
    assert (tmp_path / "summary").read_text().startswith("## SLOWER")
    assert json.loads((tmp_path / "a.json").read_text())["version"] == "2.1.0"
    assert "<testsuites" in (tmp_path / "a:b.xml").read_text()


@pytest.mark.parametrize(
    ("files", "message"), [(["json:"], "names no file"), (["x.json", "text:x.json"], "two reports")]
)
def test_files_that_make_no_sense(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], message: str
) -> None:
    """A format without a file, and two reports in one file, are refused before the work."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=message):
        Destinations("text", files)


def test_a_folder_is_no_standard_output(tmp_path: Path) -> None:
    """A format of many files needs a place for them, which is no file."""
    pytest.importorskip("tensorboardX")
    with pytest.raises(UsageError, match="folder of files") as caught:
        Destinations("tensorboard", None)
    assert "-o tensorboard:FOLDER" in str(caught.value.hint)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        Destinations("text", [f"tensorboard:{tmp_path / 'file'}"])
    Destinations("text", [f"tensorboard:{tmp_path}"]).deliver(probe_report(), Policy())


def test_a_library_that_is_missing_is_told_before_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its library a format names what to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MachineError, match="html needs jinja2") as caught:
        Destinations("html", None)
    assert caught.value.hint == 'pip install "ckpt-doctor[html]"'
