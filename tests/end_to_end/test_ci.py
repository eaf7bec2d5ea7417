"""The example for GitHub Actions and the pre-commit hook do what they say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.structure.source import PACKAGE, ROOT

yaml = pytest.importorskip("yaml")

WORKFLOW = PACKAGE / "docs" / "ci" / "github-actions.yml"

STAND_IN = f"""#!{sys.executable}
import sys
sys.path.insert(0, {str(ROOT)!r})
from ckpt_doctor import doctor
from ckpt_doctor.cli.app import run
from tests.report.sample import probe_report
doctor.probe = lambda *_: probe_report()
sys.exit(run(sys.argv[1:]))
"""
"""The command, with a probe that answers at once: what it measures is tested elsewhere."""


def commands(job: str) -> dict[str, str]:
    """The shell commands of a job that call ckpt-doctor, by the name of their step."""
    steps = yaml.safe_load(WORKFLOW.read_text("utf-8"))["jobs"][job]["steps"]
    found = {step["name"]: step["run"] for step in steps if "run" in step}
    return {name: command for name, command in found.items() if command.startswith("ckpt-doctor")}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a training script, and the command on its PATH."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ckpt-doctor"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    (tmp_path / "train.py").write_text("")
    return tmp_path


def shell(project: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub's runner does: bash with -e and pipefail."""
    environment = {
        **os.environ,
        "PATH": f"{project / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(project / "summary"),
    }
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command]
    return subprocess.run(
        words, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_the_workflow(project: Path) -> None:
    """Findings pass on to the comparison, which fails for what the baseline lacks, and writes all formats."""
    pytest.importorskip("pygal")
    probe, judge = commands("resume").values()
    result = shell(project, probe)
    assert result.returncode == 0, result.stderr
    report = json.loads((project / "resume.json").read_text())
    (project / "resume-baseline.json").write_text(json.dumps({**report, "findings": []}))
    result = shell(project, judge)
    assert result.returncode == 1, result.stderr
    assert "::error file=train.py,line=42,title=DAT203 cold-page-cache::" in result.stdout
    assert (project / "summary").read_text().startswith("## FINDINGS")
    for name in ("resume.html", "resume.sarif", "resume.xml"):
        assert (project / name).stat().st_size > 0
    (project / "resume-baseline.json").write_text(json.dumps(report))
    result = shell(project, judge)
    assert result.returncode == 0, result.stderr
    assert "::notice" in result.stdout


def test_a_probe_that_cannot_run_fails_the_job(project: Path) -> None:
    """Only findings are left to the comparison: a script that is not there fails at once."""
    (project / "train.py").unlink()
    probe = commands("resume")["Probe the resume"]
    assert shell(project, probe).returncode != 0


def test_the_files_that_later_steps_take(project: Path) -> None:
    """What is uploaded is what was written."""
    workflow = yaml.safe_load(WORKFLOW.read_text("utf-8"))
    steps = workflow["jobs"]["resume"]["steps"]
    sarif = next(step for step in steps if "upload-sarif" in step.get("uses", ""))
    assert f"-o {sarif['with']['sarif_file']}" in commands("resume")["Judge it against the baseline"]
    assert workflow["permissions"]["security-events"] == "write"


def test_the_pre_commit_hook(tmp_path: Path) -> None:
    """The hook runs on checkpoints alone, and one without required state stops a commit."""
    pytest.importorskip("pre_commit")
    hooks, project = tmp_path / "hooks", tmp_path / "project"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
        **{f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }

    def call(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    for folder in (hooks, project):
        folder.mkdir()
        call(folder, "git", "init", "-q")
    (hooks / ".pre-commit-hooks.yaml").write_text((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    call(hooks, "git", "add", ".")
    call(hooks, "git", "commit", "-qm", "hooks")
    (project / "pyproject.toml").write_text('[tool.ckpt-doctor]\nrequired = ["optimizer"]\n')
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    torch.save({"model": model.state_dict()}, project / "weights.pt")
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": 1}, project / "all.pt"
    )
    (project / "notes.txt").write_text("no checkpoint")
    call(project, "git", "add", ".")
    tried = (sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "ckpt-doctor-inspect", "--files")
    result = call(project, *tried, "weights.pt", "notes.txt")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "optimizer-state-absent" in result.stdout
    assert call(project, *tried, "notes.txt").returncode == 0
    result = call(project, *tried, "all.pt")
    assert result.returncode == 0, result.stdout + result.stderr
