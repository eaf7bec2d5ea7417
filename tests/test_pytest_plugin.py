"""The plugin inside of real pytest runs: a sample project's tests, and tests that go wrong in every way."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.recorded import environment
from tests.structure.source import ROOT

SAMPLE = ROOT / "fixtures" / "sample_project"
SAMPLE_TESTS = SAMPLE / "tests" / "test_training.py"

LEFT_OUT = {
    "model": ("model", "STA105", "a resumed run starts from new ones"),
    "ema": ("ema", "STA105", "their average starts anew"),
    "optimizer": ("optimizer", "STA101", "its moments start from zero"),
    "scheduler": ("scheduler", "STA102", "the rate jumps"),
    "step": ("step", "STA104", "nothing else can be put back to its place"),
    "epoch": ("epoch", "STA104", "nothing else can be put back to its place"),
    "sampler_rng": ("sampler_rng", "STA111", "the order of the data starts again"),
    "batches_done": ("dataloader_position", "STA112", "replays the loader or repeats data"),
    "torch_rng": ("torch_rng", "STA113", "augmentations and dropout go on differently"),
    "numpy_rng": ("numpy_rng", "STA113", "augmentations and dropout go on differently"),
    "python_rng": ("python_rng", "STA113", "augmentations and dropout go on differently"),
}
"""Parts of what the sample saves: the kind of state, the rule about it, and what its absence costs."""

MISTAKES = """
import random

import torch

from ckpt_doctor.pytest_plugin import (
    assert_no_recompiles,
    assert_no_resume_slowdown,
    assert_resumable,
    assert_state_kept,
)


def test_no_such_state(tmp_path):
    assert_state_kept(tmp_path, require=["optimiser"])


def test_no_file(assert_state_kept, tmp_path):
    assert_state_kept(tmp_path / "none.pt", require=["model"])


def test_no_script(tmp_path):
    assert_no_resume_slowdown("none.py", folder=tmp_path)


def test_a_script_that_fails(assert_no_resume_slowdown, tmp_path):
    (tmp_path / "train.py").write_text("import sys; print('no data here'); sys.exit(7)")
    assert_no_resume_slowdown(str(tmp_path / "train.py"))


def test_no_run():
    assert_resumable(list, print, print)


def test_another_run_after_a_resume():
    class Drawn:
        def __iter__(self):
            for _ in range(3):
                yield random.random()

    assert_resumable(Drawn, lambda run, path: torch.save({"step": 1}, path), lambda run, path: None)


def test_an_error_of_the_project():
    def make_run():
        raise KeyError("of the project")

    assert_resumable(make_run, print, print)


def test_compiled_again(assert_no_recompiles):
    scaled = torch.compile(lambda x, scale: x * scale, backend="eager")
    scaled(torch.ones(2), 1)
    with assert_no_recompiles():
        scaled(torch.ones(2), 1)
    with assert_no_recompiles():
        scaled(torch.ones(2), 2)


def test_an_error_in_the_block():
    with assert_no_recompiles():
        raise KeyError("of the project")
"""

CANNOT_JUDGE = {
    "test_no_such_state": "'optimiser' is no kind of state",
    "test_no_file": "none.pt",
    "test_no_script": "none.py: no such file",
    "test_a_script_that_fails": "7",
    "test_no_run": "the run ended by itself after step 0",
}

NOTHING_IMPORTED = """
import sys


def test_nothing_is_imported():
    ours = {name for name in sys.modules if name.split(".")[0] == "ckpt_doctor"}
    assert ours == {"ckpt_doctor", "ckpt_doctor.pytest_plugin"}
    assert not {"torch", "numpy", "rich", "typer", "psutil"} & set(sys.modules)
"""


def outcomes(folder: Path, report: Path, *arguments: str, **extra: str) -> dict[str, str]:
    """Run pytest in a folder; what each test failed with, by its name, and nothing for one that passed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    process = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=environment(PYTHONDONTWRITEBYTECODE="1", **extra),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode in (0, 1), process.stdout + process.stderr
    cases = ElementTree.parse(report).iter("testcase")
    return {
        case.attrib["name"]: "".join(found.text or "" for found in case if found.tag in ("failure", "error"))
        for case in cases
    }


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The sample's tests, each once for every state that it forgets to save."""
    options = [f"--without={state}" for state in LEFT_OUT]
    report = tmp_path_factory.mktemp("without") / "report.xml"
    return outcomes(SAMPLE, report, *options, str(SAMPLE_TESTS))


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Tests that cannot pass, for reasons other than a resume."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "test_mistakes.py").write_text(MISTAKES)
    return outcomes(folder, folder / "report.xml", TMPDIR=str(folder))


def test_a_project_that_resumes_well(tmp_path: Path) -> None:
    """All tests of the sample pass as it is, those with its own code and those with a ResumeManager."""
    found = outcomes(SAMPLE, tmp_path / "report.xml", "-W", "error::pytest.PytestWarning")
    assert len(found) == 4
    assert not any(found.values()), found


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_each_state_that_is_not_saved(without: dict[str, str], left_out: str) -> None:
    """Leaving out any single state fails the test, with that state as the cause, its cost and its remedy."""
    kind, code, cost = LEFT_OUT[left_out]
    text = without[f"test_a_resumed_run_goes_on[{left_out}]"]
    first, *lines = text.splitlines()
    assert re.match(r"Resumed after step \d+, the run goes another way at step \d+: its ", first), text
    missing = next(line for line in lines if line.startswith("Missing: "))
    assert kind in re.split(r"[ ,(]+", missing), text
    assert cost in text
    assert "\n  Fix: " in text
    assert f"ckpt-doctor explain {code}" in text
    assert set(re.findall(r"[A-Z]{3}\d{3}", text)) == {code}, text
    assert len(lines) <= 7, text


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_required_states(without: dict[str, str], left_out: str) -> None:
    """What a checkpoint has to keep is missed when it is left out, and nothing else is."""
    text = without[f"test_a_checkpoint_keeps_what_a_resume_needs[{left_out}]"]
    if left_out in ("optimizer", "sampler_rng", "torch_rng"):
        assert text.startswith(f"The checkpoint does not keep what a resume needs: {left_out}.")
    else:
        assert not text


@pytest.mark.parametrize("name", CANNOT_JUDGE)
def test_what_cannot_be_judged(mistakes: dict[str, str], name: str) -> None:
    """Wrong names, missing files and scripts that fail are told in a clear line, without a traceback."""
    first = mistakes[name].splitlines()[0]
    assert first.startswith("ckpt-doctor cannot judge this: ")
    assert CANNOT_JUDGE[name] in first
    assert "pytest_plugin.py" not in mistakes[name]
    assert len(mistakes[name].splitlines()) <= 5


def test_the_last_lines_of_a_script(mistakes: dict[str, str]) -> None:
    """A script that fails is quoted."""
    assert "  | no data here" in mistakes["test_a_script_that_fails"].splitlines()


def test_what_is_left_behind(mistakes: dict[str, str]) -> None:
    """Checkpoints stay where they explain a failure, and nowhere else."""
    *_, last = mistakes["test_another_run_after_a_resume"].splitlines()
    checkpoint = Path(last.removeprefix("Checkpoint: "))
    assert checkpoint.is_file()
    place = checkpoint.parents[1]
    assert list(place.parent.glob("ckpt-doctor-*")) == [place]


@pytest.mark.parametrize("name", ["test_an_error_of_the_project", "test_an_error_in_the_block"])
def test_an_error_of_the_project(mistakes: dict[str, str], name: str) -> None:
    """What the project's own code raises keeps its traceback, which does not lead through this package."""
    assert "KeyError: 'of the project'" in mistakes[name]
    assert "test_mistakes.py" in mistakes[name]
    assert "guard/resumable.py" not in mistakes[name]


def test_compiled_again(mistakes: dict[str, str]) -> None:
    """A block in which something is compiled again fails with dynamo's reason."""
    text = mistakes["test_compiled_again"]
    first, reason, *_ = text.splitlines()
    assert first == "What was compiled has been compiled again, once."
    assert "scale == 1" in reason


def test_a_project_that_uses_none_of_it_pays_nothing(tmp_path: Path) -> None:
    """With the plugin loaded, nothing but the plugin is imported."""
    (tmp_path / "test_nothing.py").write_text(NOTHING_IMPORTED)
    options = ("-p", "ckpt_doctor.pytest_plugin")
    found = outcomes(tmp_path, tmp_path / "report.xml", *options, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    assert found == {"test_nothing_is_imported": ""}


def test_the_readme_shows_the_sample() -> None:
    """The example in the README is the sample's own test file, less its docstring."""
    _, _, code = SAMPLE_TESTS.read_text("utf-8").partition('"""\n\n')
    assert f"```python\n{code}```\n" in (ROOT / "README.md").read_text("utf-8")
