"""What the README says is true: its commands run, its exit codes are the tool's, its files exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import catalogue
from ckpt_doctor.cli.app import run
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.policy import KEYS, project_policy
from tests.report.sample import probe_report
from tests.structure import readme
from tests.structure.source import ROOT

SCRIPT = """
import argparse, os, torch

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="run")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--resume")
args = parser.parse_args()
os.makedirs(args.out, exist_ok=True)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
for step in range(60):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    if step == 20:
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, os.path.join(args.out, "last.pt"))
"""

SLOW = {"probe", "demo"}
"""Commands that take minutes: their command lines are parsed in full, their work is tested elsewhere."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the README takes it for granted: a script that has run, and its checkpoint."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "train.py").write_text(SCRIPT)
    subprocess.run([sys.executable, "train.py"], cwd=folder, check=True)
    return folder


def test_every_command_runs(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands run in the README's order, and none fails or is misunderstood."""
    pytest.importorskip("pygal")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    seen = set()
    for words in readme.commands():
        assert words[0] == "ckpt-doctor"
        seen.add(words[1])
        if words[1] in SLOW:
            monkeypatch.chdir(project)
            monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
            monkeypatch.setattr(doctor, "probe", lambda *_: probe_report())
            assert run(words[1:]) == ExitCode.FINDINGS
            continue
        result = subprocess.run(
            [sys.executable, "-m", "ckpt_doctor", *words[1:]],
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        # Two runs one after the other, as short as these, may be too few to say anything: that is an answer.
        answers = (ExitCode.OK, ExitCode.INCONCLUSIVE) if words[1] == "compare" else (ExitCode.OK,)
        assert result.returncode in answers, f"{words}: {result.stdout}{result.stderr}"
    assert seen == {"demo", "probe", "inspect", "treat", "record", "compare", "explain", "env"}
    assert (project / "verdict.json").is_file()
    assert (project / "verdict.html").is_file()


def test_the_exit_codes() -> None:
    """The table has every exit code and no other."""
    assert set(readme.exit_codes()) == {int(code) for code in ExitCode}


def test_the_policy() -> None:
    """The table for pyproject.toml uses every key, and all of its values exist."""
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.search(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    assert all(f"\n{key} =" in table[1] for key in KEYS)


def test_the_policy_is_accepted(tmp_path: Path) -> None:
    """What the README shows for pyproject.toml can be copied as it is."""
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.search(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert table is not None
    (tmp_path / "pyproject.toml").write_text(table[1])
    assert project_policy(tmp_path).required == {"optimizer", "sampler_rng"}


def test_named_files_exist() -> None:
    """Every file of the package that the README names is there."""
    assert readme.paths()
    assert not [path for path in readme.paths() if not (ROOT / path).exists()]


def test_the_verdict_is_a_real_one() -> None:
    """The output shown is the demo's: outcome and an existing rule first, then what was measured."""
    output = readme.demo_output()
    first = output.partition("\n")[0]
    code = re.search(r"\(([A-Z]{3}\d{3})\)", first)
    assert first.startswith("SLOWER ")
    assert code is not None
    assert code[1] in {rule.code for rule in catalogue()}
    assert "Measured:" in output


def test_make_targets_exist() -> None:
    """Every make target that the README names is in the Makefile."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
