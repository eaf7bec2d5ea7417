"""Every report format, written at once from one probe's recordings, is valid by the rules of its readers."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from markdown_it import MarkdownIt

from ckpt_doctor.readers.recordings import read_recording
from ckpt_doctor.readers.runs import read_runs
from ckpt_doctor.report import format_names
from tests.recorded import environment
from tests.report.page.browser import CHROMIUM, NEEDS_PICTURES, check_screen, shown, started
from tests.report.test_github import commands
from tests.report.test_html import Page
from tests.report.test_sarif import validate
from tests.structure.source import ROOT

pytest.importorskip("tensorboardX")

pytestmark = NEEDS_PICTURES

RECORDED = ROOT / "fixtures" / "recordings" / "memory_pressure"
NAMES = {"github": "annotations", "tensorboard": "board"}
"""What is called otherwise than ``report.FORMAT``; the format is named before each."""


def outputs() -> list[str]:
    """The options that write every format there is, each into a file or folder of its own."""
    files = [f"{name}:{_file(name)}" for name in format_names()]
    return [word for file in files for word in ("-o", file)]


def run_in(folder: Path, *command: str) -> str:
    """Run a command that finds something; its standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "ckpt_doctor", *command, *outputs()],
        cwd=folder,
        env=environment(COLUMNS="80"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def check_all(folder: Path, stdout: str) -> None:
    """Check each format's file, and that all of them tell the cause that standard output tells."""
    assert set(CHECKS) == set(format_names())
    assert (folder / _file("text")).read_text("utf-8") == stdout
    cause = json.loads((folder / _file("json")).read_text("utf-8"))["verdict"]["cause"]
    assert f"({cause})" in stdout.partition("\n")[0]
    for name, check in CHECKS.items():
        check(folder / _file(name), cause)


def _file(name: str) -> str:
    return NAMES.get(name, f"report.{name}")


def _text(path: Path, cause: str) -> None:
    lines = path.read_text("utf-8").splitlines()
    assert max(len(line) for line in lines) <= 80
    assert "\x1b" not in "".join(lines)


def _json(path: Path, cause: str) -> None:
    schema = resources.files("ckpt_doctor.report").joinpath("schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator(json.loads(schema)).validate(json.loads(path.read_text("utf-8")))


def _sarif(path: Path, cause: str) -> None:
    log = validate(path.read_text("utf-8"))
    assert cause in {result["ruleId"] for result in log["runs"][0]["results"]}


def _junit(path: Path, cause: str) -> None:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    failed = [case for case in cases if case.find("failure") is not None]
    assert any(str(case.get("name")).startswith(cause) for case in failed)


def _html(path: Path, cause: str) -> None:
    page = Page(path.read_text("utf-8"))
    assert page.open == []
    assert cause in page.text


def _markdown(path: Path, cause: str) -> None:
    page = MarkdownIt("commonmark").enable("table").render(path.read_text("utf-8"))
    assert page.startswith("<h2>")
    assert cause in page


def _github(path: Path, cause: str) -> None:
    titles = [properties["title"] for _, properties, _ in commands(path.read_text("utf-8"))]
    assert any(title.startswith(cause) for title in titles[1:])


def _csv(path: Path, cause: str) -> None:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["arm"] for row in rows} == {"before", "after"}
    assert all(float(row["step_s"]) > 0 for row in rows)


def _trace(path: Path, cause: str) -> None:
    events = json.loads(path.read_text("utf-8"))["traceEvents"]
    assert {"M", "X", "C"} <= {event["ph"] for event in events}


def _speedscope(path: Path, cause: str) -> None:
    document = json.loads(path.read_text("utf-8"))
    frames = len(document["shared"]["frames"])
    for profile in document["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert all(0 <= index < frames for stack in profile["samples"] for index in stack)


def _tensorboard(path: Path, cause: str) -> None:
    (before,), (after,) = (path.glob(f"*-{arm}") for arm in ("before", "after"))
    runs = read_runs(str(before), str(after))
    assert runs is not None
    told = json.loads((path.parent / _file("json")).read_text("utf-8"))["verdict"]
    for run, arm in zip(runs, ("before", "after"), strict=True):
        steps = run.ranks[0].steps
        mean_s = (steps.t_end_s[-1] - steps.t_start_s[0]) / sum(steps.strides or (len(steps),))
        assert mean_s == pytest.approx(told[f"{arm}_step_s"], rel=0.2)


CHECKS: dict[str, Callable[[Path, str], None]] = {
    "csv": _csv,
    "github": _github,
    "html": _html,
    "json": _json,
    "junit": _junit,
    "markdown": _markdown,
    "sarif": _sarif,
    "speedscope": _speedscope,
    "tensorboard": _tensorboard,
    "text": _text,
    "trace": _trace,
}


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with every report on the recordings of one probe, and what was printed."""
    folder = tmp_path_factory.mktemp("reports")
    before, after = str(RECORDED / "before"), str(RECORDED / "after")
    return folder, run_in(folder, "compare", "--before", before, "--after", after)


def test_of_a_recorded_probe(compared: tuple[Path, str]) -> None:
    """One command writes all formats from the two recordings, and each is valid and tells the cause."""
    check_all(*compared)
    steps = sum(len(read_recording(RECORDED / arm).ranks[0].steps) for arm in ("before", "after"))
    with (compared[0] / _file("csv")).open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == steps


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here (Debian: apt-get install chromium)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_its_page_on_a_phone(compared: tuple[Path, str], scheme: str) -> None:
    """The page of real recordings fits 400 px, in light and dark, without complaint and without the net."""
    pytest.importorskip("playwright.sync_api")
    with (
        started() as browser,
        shown(browser, compared[0] / _file("html"), scheme=scheme, width=400) as page,
    ):
        check_screen(page)


@pytest.mark.long
def test_of_a_fresh_probe(tmp_path: Path) -> None:
    """A probe that runs here, the demo, writes all formats, and each is valid and tells the cause."""
    check_all(tmp_path, run_in(tmp_path, "demo"))
    document = json.loads((tmp_path / _file("speedscope")).read_text("utf-8"))
    assert len(document["profiles"]) == 2
