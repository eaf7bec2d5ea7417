"""The Makefile and the CI script keep their word."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from ckpt_doctor.agent.heap import STEADY_HEAP
from tests.structure.source import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")

FAKE_MAKE = """#!/bin/sh
case "$1" in
  test) printf '%s\\n' "$FAKE_TESTS"; exit "$FAKE_TESTS_CODE";;
  "$FAKE_FAILS") exit 2;;
esac
"""


def ci(folder: Path, *, fails: str = "none", tests: str, tests_code: int = 0) -> tuple[int, str]:
    """Run the CI script with a make that only pretends; its exit code and its last line."""
    make = folder / "make"
    make.write_text(FAKE_MAKE)
    make.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "FAKE_FAILS": fails,
        "FAKE_TESTS": tests,
        "FAKE_TESTS_CODE": str(tests_code),
    }
    result = subprocess.run(
        [ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False
    )
    return result.returncode, result.stdout.splitlines()[-1]


def test_every_target_is_explained() -> None:
    """Each target has a line of help, except the one that makes the stamp."""
    targets = re.findall(r"^([a-z-]+):(.*)$", MAKEFILE, re.MULTILINE)
    assert {name for name, _ in targets} >= {
        "setup",
        "demo",
        "test",
        "lint",
        "types",
        "matrix",
        "bench",
        "fuzz",
        "help",
    }
    assert all(" ## " in rest for _, rest in targets)


def test_the_tests_run_with_the_heap_that_probes_use() -> None:
    """The Makefile's thresholds are those of --steady-heap."""
    for name, value in STEADY_HEAP.items():
        assert f"{name}={value}" in MAKEFILE


@pytest.mark.parametrize(
    ("fails", "tests", "tests_code", "code"),
    [
        ("none", "=== 7 passed in 1.20s ===", 0, 0),
        ("none", "=== 7 passed, 1 deselected in 61.20s (0:01:01) ===", 0, 0),
        ("lint", "=== 7 passed in 1.20s ===", 0, 1),
        ("types", "=== 7 passed in 1.20s ===", 0, 1),
        ("none", "=== 1 failed, 6 passed in 1.20s ===", 2, 1),
        ("none", "=== no tests ran in 0.01s ===", 2, 1),
        ("none", "=== 1 error in 0.10s ===", 2, 1),
    ],
)
def test_ci_is_honest(tmp_path: Path, fails: str, tests: str, tests_code: int, code: int) -> None:
    """Whatever fails makes the exit code 1, and pytest's own closing line is the last line."""
    noise = f"tests/test_x.py ..\n{tests}\nmake: *** [test] Error 1"
    assert ci(tmp_path, fails=fails, tests=noise, tests_code=tests_code) == (code, tests)


def test_ci_without_a_closing_line(tmp_path: Path) -> None:
    """Tests that break off are a failure, even if make says that all is well."""
    assert ci(tmp_path, tests="collecting ...") == (1, "pytest did not come to its end")


def test_ci_without_a_set_up(tmp_path: Path) -> None:
    """Where the set-up fails nothing else is tried."""
    make = tmp_path / "make"
    make.write_text("#!/bin/sh\necho $1 >> $CALLS\nexit 2\n")
    make.chmod(0o755)
    calls = tmp_path / "calls"
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "CALLS": str(calls)}
    assert subprocess.run([ROOT / ".ci" / "run"], env=environment, check=False).returncode == 2
    assert calls.read_text() == "setup\n"
