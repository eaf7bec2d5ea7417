"""The house is laid out as it says it is."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from tests.structure.source import ROOT, modules, name_of

TOP_LEVEL = {
    *("Makefile", "README.md", "constraints.txt", "pyproject.toml"),
    *("ckpt_doctor", "fixtures", "tests"),
}


def tracked() -> list[Path]:
    """All files that git knows and that are still there."""
    command = ["git", "ls-files", "-z", "--cached"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode != 0:
        pytest.skip("not a git checkout")
    return [Path(name) for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_top_level_holds_nothing_else() -> None:
    """What lies at the top is a folder of the house, one of four files, or a dotfile."""
    names = {path.parts[0] for path in tracked()}
    assert {name for name in names if not name.startswith(".")} <= TOP_LEVEL


def test_tests_mirror_the_source() -> None:
    """Every test file stands where the module that it tests stands."""
    source = {name_of(path).split(".", 1)[-1].replace(".", "/") for path in modules()}
    strays = []
    for path in tracked():
        if path.parts[0] != "tests" or not path.name.startswith("test_"):
            continue
        if path.parts[1] in ("structure", "benchmarks", "end_to_end", "fixtures"):
            continue
        folder = "/".join(path.parent.parts[1:])
        module = "/".join(filter(None, (folder, path.stem.removeprefix("test_"))))
        if module not in source and folder not in source:
            strays.append(str(path))
    assert not strays


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("test_*.py")), ids=lambda path: path.stem)
def test_every_test_says_what_must_hold(path: Path) -> None:
    """Each test function has a docstring."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            assert ast.get_docstring(node), f"{path.name}:{node.lineno} {node.name}"
