"""Errors become words and exit codes in one place."""

from __future__ import annotations

import subprocess
import sys
from typing import NoReturn

import pytest

from ckpt_doctor import __version__, doctor
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.settings import Settings
from ckpt_doctor.errors import CkptDoctorError, ScriptError
from tests.cli.conftest import Cli
from tests.structure.test_cli_options import OPTIONS


def failing(error: BaseException) -> object:
    """Something that raises, whatever it is called with."""

    def fail(*args: object) -> NoReturn:
        raise error

    return fail


def test_an_error_is_one_line_with_the_tail_and_a_hint(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong, the script's last lines and the remedy are told; no traceback; exit code 2."""
    error = ScriptError("train.py exited with 7", hint="Run it alone.", tail=("epoch 1", "\x1b[2Jboom"))
    monkeypatch.setattr(doctor, "compare", failing(error))
    outcome = cli("compare", "--before", "a", "--after", "b")
    assert outcome.code == ExitCode.COULD_NOT_RUN
    assert (
        outcome.err == "ckpt-doctor: train.py exited with 7\n  | epoch 1\n  | \\x1b[2Jboom\n  Run it alone.\n"
    )
    assert outcome.out == ""


@pytest.mark.parametrize(
    "error", [ValueError("bad\nvalue"), RecursionError(), MemoryError(), AssertionError()]
)
def test_a_crash_is_neither_findings_nor_health(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """A fault of our own is told in one line that names its place, and exits with 2."""
    monkeypatch.setattr(doctor, "compare", failing(error))
    outcome = cli("compare", "--before", "a", "--after", "b")
    assert outcome.code == ExitCode.COULD_NOT_RUN
    assert "Traceback" not in outcome.err
    first, second = outcome.err.splitlines()
    assert first.startswith(f"ckpt-doctor: internal error: {type(error).__name__}")
    assert "test_app.py" in first
    assert "--debug" in second


@pytest.mark.parametrize("arguments", [("--debug", "compare"), ("compare",)])
def test_the_traceback_on_demand(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """The traceback is shown with --debug, and with CKPT_DOCTOR_DEBUG=1."""
    monkeypatch.setattr(doctor, "compare", failing(CkptDoctorError("no")))
    if "--debug" not in arguments:
        monkeypatch.setenv("CKPT_DOCTOR_DEBUG", "1")
    outcome = cli(*arguments, "--before", "a", "--after", "b")
    assert outcome.code == ExitCode.COULD_NOT_RUN
    assert "Traceback" in outcome.err


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), ExitCode.INTERRUPTED), (SystemExit(1), ExitCode.COULD_NOT_RUN)],
)
def test_leaving_early(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: ExitCode
) -> None:
    """Ctrl-C is 130 as shells expect, and no library's exit code passes for findings."""
    monkeypatch.setattr(doctor, "compare", failing(error))
    assert cli("compare", "--before", "a", "--after", "b").code == code


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nope",), "No such command"),
        (("compare", "--before", "a"), "--after"),
        (("compare", "--bofore", "a"), "--bofore"),
        (("inspect",), "CHECKPOINT"),
        (("probe", "--steps", "many", "train.py"), "--steps"),
        (("probe", "--steps", "0", "train.py"), "--steps"),
        (("inspect", "--fail-on", "sometimes", "x"), "sometimes"),
    ],
)
def test_wrong_usage(cli: Cli, arguments: tuple[str, ...], words: str) -> None:
    """A wrong command line exits with 2 and says what is wrong and where help is."""
    outcome = cli(*arguments)
    assert outcome.code == ExitCode.COULD_NOT_RUN
    assert outcome.err.startswith("ckpt-doctor: ")
    assert words in outcome.err.splitlines()[0]
    assert "--help" in outcome.err.splitlines()[-1]


def test_version_and_help(cli: Cli) -> None:
    """--version prints the version; without a command the help is shown, as an error."""
    assert cli("--version").out == f"ckpt-doctor {__version__}\n"
    assert cli("--version").code == ExitCode.OK
    outcome = cli()
    assert outcome.code == ExitCode.COULD_NOT_RUN
    assert "probe" in outcome.out


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("command", ["", *sorted(OPTIONS)])
def test_help_fits_and_gives_an_example(
    cli: Cli, command: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Help fits the terminal, the tool's own and each command's, and has an example of its use."""
    monkeypatch.setenv("COLUMNS", str(columns))
    outcome = cli(*command.split(), "--help")
    assert outcome.code == ExitCode.OK
    assert [line for line in outcome.out.splitlines() if len(line) > columns] == []
    assert f"ckpt-doctor {command}" in outcome.out.partition("Examples:")[2]


def test_a_reader_that_goes_away_is_no_finding() -> None:
    """A closed pipe leads to neither a traceback nor exit code 1."""
    command = [sys.executable, "-m", "ckpt_doctor", "explain", "--list"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == ExitCode.OK


def test_output_in_a_narrow_encoding() -> None:
    """Where the output cannot show a character, a question mark stands for it."""
    script = "import sys; from ckpt_doctor.cli import app; sys.argv = ['x', '--version']; app.main()"
    environment = {"PYTHONIOENCODING": "ascii", "PATH": ""}
    result = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=False)
    assert result.returncode == 0
    echo = "import sys; from ckpt_doctor.cli import app\napp.run = lambda a: print('1.5×') or 0\napp.main()"
    result = subprocess.run([sys.executable, "-c", echo], env=environment, capture_output=True, check=False)
    assert (result.returncode, result.stdout) == (0, b"1.5?\n")


def test_settings_do_not_outlive_a_command(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """--debug holds for one command line, not for the next in the same process."""
    monkeypatch.setattr(doctor, "compare", failing(CkptDoctorError("no")))
    assert "Traceback" in cli("--debug", "compare", "--before", "a", "--after", "b").err
    assert "Traceback" not in cli("compare", "--before", "a", "--after", "b").err
    assert Settings().debug is False
