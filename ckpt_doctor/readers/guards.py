"""Looks for what guards the resume in a script's own project: CI files, tests and recipes, as text.

Nothing of them is executed or parsed: a line that calls ckpt-doctor and is no comment is a call. The project
is the repository that the script lies in; a CI that is set up elsewhere cannot be seen.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ckpt_doctor.facts.command import script_end
from ckpt_doctor.facts.guards import Guards

if TYPE_CHECKING:
    from ckpt_doctor.facts.run import RunMeta

REPOSITORY = (".git", ".hg")
PROJECT = ("pyproject.toml", "setup.py", "setup.cfg")
"""What lies at the root of a project; without a repository around it, the nearest one counts."""
LIBRARIES = ("site-packages", "dist-packages")
"""Folders of installed code, which is nobody's project."""
CI_FILES = (
    *(".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".circleci/config.yml"),
    *(".buildkite/*.yml", ".travis.yml", ".drone.yml", ".woodpecker.yml", ".cirrus.yml", ".ci/*"),
    *("azure-pipelines.yml", "bitbucket-pipelines.yml", "Jenkinsfile"),
)
RECIPES = ("Makefile", "makefile", "GNUmakefile", "justfile", "tox.ini", "noxfile.py", "ci/*", "scripts/*")
"""What a CI file may hand its work to."""
TEST_FOLDERS = ("tests", "test")
ASSERTIONS = ("assert_resumable", "assert_state_kept", "assert_no_resume_slowdown", "assert_no_recompiles")
"""What the pytest plugin offers to tests."""
MAX_FILES = 5_000
"""So many files of a folder of tests are looked at, whatever they are."""
MAX_BYTES = 1_000_000
"""Longer files are no recipe and no test that anybody wrote."""

_CALL = re.compile(r"\bckpt[-_]doctor(\s+-[-\w]+)*\s+(probe|compare|inspect)(?![-\w])")
_ASSERTION = re.compile(rf"\b({'|'.join(ASSERTIONS)})\b")
_RUNS_TESTS = re.compile(r"\b(pytest|tox|nox|make|just)\b")
_COMMENT = re.compile(r"(^|\s)#.*$|^\s*//.*$", re.MULTILINE)


def find_guards(meta: RunMeta) -> Guards | None:
    """What the files of a run's project say; None where the project is not known on this machine."""
    folder = _script_folder(meta)
    root = None if folder is None else _root(folder)
    if folder is None or root is None:
        return None
    ci = {path: _text(path) for path in _matching(root, CI_FILES)}
    recipes = [path for path in _matching(root, RECIPES) if _CALL.search(_text(path))]
    tests = [path for path in _tests(root, folder) if _ASSERTION.search(_text(path))]
    uses = _told(root, (*tests, *recipes))
    return Guards(
        root=str(root),
        ci_files=_told(root, ci),
        callers=_told(root, (path for path, text in ci.items() if _CALL.search(text))),
        uses=uses,
        runners=_told(root, (path for path, text in ci.items() if _runs(text, uses))),
    )


def _script_folder(meta: RunMeta) -> Path | None:
    """The folder of the script, or the one that a module was started in; None where it is not there."""
    end = script_end(meta.command)
    script = meta.command[end - 1] if end is not None else ""
    place = Path(os.path.normpath(Path(meta.cwd, script)))
    folder = place.parent if script.endswith(".py") else Path(meta.cwd)
    known = folder.is_absolute() and folder.is_dir() and not set(folder.parts) & set(LIBRARIES)
    return folder if known else None


def _root(folder: Path) -> Path | None:
    for marks in (REPOSITORY, PROJECT):
        for candidate in (folder, *folder.parents):
            if any((candidate / mark).exists() for mark in marks):
                return candidate
    return None


def _runs(text: str, uses: Iterable[str]) -> bool:
    """Whether a CI file runs tests or recipes, by a runner's name or by their own."""
    return bool(_RUNS_TESTS.search(text)) or any(use in text for use in uses)


def _matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(root.glob(pattern)) if path.is_file()]


def _tests(root: Path, folder: Path) -> list[Path]:
    """Python files of the project's tests, and of those beside the script."""
    found = [path for place in (root, folder) for path in _matching(place, ("test_*.py", "*_test.py"))]
    for place in (root, folder):
        for name in TEST_FOLDERS:
            found += _python_files(place / name)
    return list(dict.fromkeys(found))


def _python_files(folder: Path) -> Iterator[Path]:
    seen = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        for name in sorted(files):
            if name.endswith(".py"):
                yield Path(parent, name)
        seen += len(files)
        if seen >= MAX_FILES:
            return


def _text(path: Path) -> str:
    """The text of a file without its comments; empty where it is too long or cannot be read."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return ""
        return _COMMENT.sub("", path.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return ""


def _told(root: Path, paths: Iterable[Path]) -> tuple[str, ...]:
    return tuple(path.relative_to(root).as_posix() for path in paths)
