"""Imports run one way through the house, and each library is used where it belongs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.structure.source import imports_of, modules, name_of

_FLOOR = {"errors", "units", "facts"}
_SIDE_BY_SIDE = {"readers", "signals", "stats"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "units": set(),
    "facts": set(),
    **dict.fromkeys(_SIDE_BY_SIDE, _FLOOR),
    "checks": {"facts", "units"},
    "report": {"facts", "units"},
    "resume": _FLOOR,
    "repairs": _FLOOR | {"readers"},
    "agent": _FLOOR | _SIDE_BY_SIDE,
    "probe": _FLOOR | _SIDE_BY_SIDE | {"agent"},
    "doctor": _FLOOR | _SIDE_BY_SIDE | {"checks", "report", "repairs", "agent", "probe"},
    "guard": _FLOOR | {"readers", "checks", "report", "resume", "probe", "doctor"},
    "pytest_plugin": _FLOOR | {"guard"},
    "cli": _FLOOR | _SIDE_BY_SIDE | {"checks", "report", "agent", "probe", "doctor"},
    "__main__": {"cli"},
}
"""What each part of the house may import of the others; every part may import itself."""

BELONGS_TO: dict[str, tuple[str, ...]] = {
    "typer": ("ckpt_doctor.cli",),
    "rich": ("ckpt_doctor.cli",),
    "psutil": ("ckpt_doctor.signals", "ckpt_doctor.probe"),
    "pytest": ("ckpt_doctor.pytest_plugin",),
}
"""Libraries that only some packages may use, wherever in a module."""

NEVER_AT_IMPORT_TIME = {
    *("torch", "numpy", "safetensors", "torchdata", "py_spy", "fsspec"),
    *("jinja2", "pygal", "tensorboardX"),
}
"""Libraries that are not there everywhere, or slow to import."""

LIVES_ON = {"torch": "ckpt_doctor.resume"}
"""A part that is of use only in a process that has the library: it may import it at once."""


def part_of(module: str) -> str:
    """The part of the house that a module belongs to: the name below the package."""
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_run_one_way(path: Path) -> None:
    """A part imports only what lies below it, also in functions."""
    own = part_of(name_of(path))
    if own == "":
        assert not [item for item in imports_of(path) if item.module.startswith("ckpt_doctor")]
        return
    assert own in MAY_IMPORT, f"{own} is no part of the house: give it a place in MAY_IMPORT"
    for item in imports_of(path):
        if item.module.split(".")[0] != "ckpt_doctor" or item.module == "ckpt_doctor.__version__":
            continue
        other = part_of(item.module)
        assert other == own or other in MAY_IMPORT[own], f"{name_of(path)} must not import {item.module}"


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_libraries_are_used_where_they_belong(path: Path) -> None:
    """What has a place of its own stays there; heavy or optional libraries are imported when needed."""
    own = name_of(path)
    for item in imports_of(path):
        library = item.module.split(".")[0]
        allowed = BELONGS_TO.get(library)
        assert allowed is None or any(own == p or own.startswith(f"{p}.") for p in allowed), (
            f"{own} must not import {library}"
        )
        at_home = own.startswith(LIVES_ON.get(library, "no part"))
        assert at_home or not (item.at_import_time and library in NEVER_AT_IMPORT_TIME), (
            f"{own} imports {library} at once"
        )


def test_no_cycles() -> None:
    """No module imports itself through others."""
    names = {name_of(path) for path in modules()}
    graph = {
        name_of(path): {
            target
            for item in imports_of(path)
            if item.at_import_time
            for target in (item.module, item.module.rpartition(".")[0])
            if target in names and target != name_of(path)
        }
        for path in modules()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail[trail.index(name) :], name))
        if name not in done:
            for target in graph[name]:
                visit(target, (*trail, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch.nn", [("torch.nn", True)]),
        ("def f():\n    import torch", [("torch", False)]),
        ("try:\n    import torch\nexcept ImportError:\n    pass", [("torch", True)]),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", [("torch", False)]),
        ("class A:\n    from rich import box", [("rich.box", True)]),
    ],
)
def test_the_test_sees_imports(tmp_path: Path, source: str, found: list[tuple[str, bool]]) -> None:
    """Imports are found wherever they stand, and told apart by when they run."""
    path = tmp_path / "module.py"
    path.write_text(source)
    ast.parse(source)
    items = [(item.module, item.at_import_time) for item in imports_of(path)]
    assert [item for item in items if not item[0].startswith("typing")] == found
