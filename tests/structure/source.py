"""The source as data: every module of the package, and what it imports where."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "ckpt_doctor"


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name."""

    module: str
    at_import_time: bool
    """Whether the import runs when the module is imported, and not in a function."""


def modules() -> list[Path]:
    """All Python files of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> list[Import]:
    """Everything that a module imports; names behind ``from`` are told apart from modules by the caller."""
    return list(_imports(ast.parse(path.read_text(encoding="utf-8")), at_import_time=True))


def _imports(node: ast.AST, *, at_import_time: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(alias.name, at_import_time)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            for alias in child.names:
                yield Import(f"{child.module}.{alias.name}", at_import_time)
        elif _is_for_types(child):
            yield from _imports(child, at_import_time=False)
        else:
            in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(child, at_import_time=at_import_time and not in_function)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
