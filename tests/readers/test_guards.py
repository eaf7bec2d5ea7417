"""What guards the resume in a project, read from real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor import pytest_plugin
from ckpt_doctor.facts.run import RunMeta
from ckpt_doctor.readers import guards as reader
from ckpt_doctor.readers.guards import find_guards

WORKFLOW = ".github/workflows/ci.yml"
TEST = "from train import make_run\n\n\ndef test_resume(assert_resumable):\n    assert_resumable(make_run)\n"


def write(folder: Path, files: dict[str, str]) -> None:
    """Write files, with the folders that they lie in."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def meta(cwd: Path, *command: str) -> RunMeta:
    """A run of a command in a folder."""
    return RunMeta(
        path="rec",
        command=command or ("python", "train.py"),
        cwd=str(cwd),
        host="here",
        created_unix_s=0.0,
        arm="after",
        complete=True,
        ended_by="doctor",
        exit_code=None,
    )


def project(folder: Path, files: dict[str, str]) -> Path:
    """A repository with some files and a script."""
    (folder / ".git").mkdir()
    write(folder, {"train.py": "", **files})
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "      - run: ckpt-doctor probe train.py\n",
        "      - run: >-\n          ckpt-doctor\n          probe train.py\n",
        "      - run: python -m ckpt_doctor compare --before a --after b\n",
        "      - run: ckpt-doctor --debug inspect last.pt\n",
    ],
)
def test_a_call_in_ci(tmp_path: Path, line: str) -> None:
    """A CI file that calls the command is found, however it calls it."""
    found = find_guards(meta(project(tmp_path, {WORKFLOW: line})))
    assert found is not None
    assert found.callers == found.ci_files == (WORKFLOW,)


@pytest.mark.parametrize(
    "line",
    [
        "      - run: pip install ckpt-doctor\n",
        "      # - run: ckpt-doctor probe train.py\n",
        "      - run: pytest  # ckpt-doctor probe comes later\n",
        "      - run: ckpt-doctor env\n",
        "      - run: pip install ckpt-doctor inspect-ai\n",
    ],
)
def test_what_is_no_call(tmp_path: Path, line: str) -> None:
    """To install it, to comment it out or to ask it about the machine guards nothing."""
    found = find_guards(meta(project(tmp_path, {WORKFLOW: line})))
    assert found is not None
    assert found.ci_files == (WORKFLOW,)
    assert found.callers == ()


def test_a_test_that_ci_runs(tmp_path: Path) -> None:
    """A test with one of the plugin's assertions is a use, and pytest in CI a runner."""
    files = {"tests/unit/test_resume.py": TEST, WORKFLOW: "run: pytest tests\n"}
    found = find_guards(meta(project(tmp_path, files)))
    assert found is not None
    assert found.uses == ("tests/unit/test_resume.py",)
    assert found.runners == (WORKFLOW,)
    assert found.callers == ()


def test_every_assertion_is_a_guard() -> None:
    """What is looked for in tests is what the pytest plugin offers, all of it."""
    assert {name for name in vars(pytest_plugin) if name.startswith("assert_")} == set(reader.ASSERTIONS)


def test_a_recipe_that_ci_runs(tmp_path: Path) -> None:
    """A script that CI names, and a Makefile, may hold the call; a CI file that runs neither is no runner."""
    files = {
        "scripts/resume.sh": "ckpt-doctor probe train.py\n",
        "Makefile": "resume:\n\tckpt-doctor probe train.py\n",
        WORKFLOW: "run: bash scripts/resume.sh\n",
        ".gitlab-ci.yml": "script: make resume\n",
        ".travis.yml": "script: ruff check\n",
    }
    found = find_guards(meta(project(tmp_path, files)))
    assert found is not None
    assert found.uses == ("Makefile", "scripts/resume.sh")
    assert found.runners == (WORKFLOW, ".gitlab-ci.yml")


def test_a_script_deep_in_a_repository(tmp_path: Path) -> None:
    """The repository around the script is the project, past packages on the way; tests beside it count."""
    root = project(tmp_path, {WORKFLOW: "run: pytest\n"})
    write(root / "models/small", {"pyproject.toml": "", "train.py": "", "tests/test_resume.py": TEST})
    (root / "elsewhere").mkdir()
    found = find_guards(meta(root / "elsewhere", "python", "../models/small/train.py"))
    assert found is not None
    assert found.root == str(root)
    assert found.uses == ("models/small/tests/test_resume.py",)


def test_a_project_without_a_repository(tmp_path: Path) -> None:
    """Without a repository the nearest project file counts; a module is looked for where it was started."""
    write(tmp_path, {"pyproject.toml": "", "package/train.py": ""})
    for command in (("python", "package/train.py"), ("python", "-m", "package.train")):
        found = find_guards(meta(tmp_path, *command))
        assert found is not None
        assert (found.root, found.ci_files) == (str(tmp_path), ())


def test_no_project(tmp_path: Path) -> None:
    """A script in no project, in installed code or on another machine is in none that could be looked at."""
    installed = tmp_path / "site-packages"
    write(installed, {".git/HEAD": "", "train.py": ""})
    assert find_guards(meta(tmp_path)) is None
    assert find_guards(meta(installed)) is None
    assert find_guards(meta(tmp_path / "gone")) is None
    assert find_guards(meta(Path("relative"))) is None


def test_what_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file that is too long nor the later ones of very many; any bytes are text."""
    monkeypatch.setattr(reader, "MAX_BYTES", 1000)
    monkeypatch.setattr(reader, "MAX_FILES", 3)
    files = {"test_long.py": TEST + "#" * 1000}
    files |= {f"tests/a/test_{n}.py": "" for n in range(3)} | {"tests/b/test_resume.py": TEST}
    root = project(tmp_path, files)
    (root / "test_bytes.py").write_bytes(b"\xff\xfe assert_resumable")
    found = find_guards(meta(root))
    assert found is not None
    assert found.uses == ("test_bytes.py",)
