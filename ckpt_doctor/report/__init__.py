"""Findings become text, and nothing is judged here.

An output format is one module in this folder, named after itself: ``report/json.py`` is
``--format json``. It has ``SUFFIXES``, the endings of files that hold it (there may be none), and

- ``render(report) -> str``; a format for terminals also takes ``width`` (columns) and ``colour``; or
- ``write(report, folder)``, where the format is a folder of files.

A format that needs libraries of an extra names them in ``NEEDS``; the extra is called like the format.
Formats are found by scanning; what several of them share lies in a package beside them.
"""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

    from ckpt_doctor.facts.report import Report


class Format(NamedTuple):
    """One output format, with the module that renders it."""

    name: str
    suffixes: tuple[str, ...]
    module: ModuleType

    @property
    def is_for_terminals(self) -> bool:
        """Whether the width of a terminal and its colours matter."""
        from inspect import signature

        return not self.is_folder and "width" in signature(self.module.render).parameters

    @property
    def is_folder(self) -> bool:
        """Whether the format is a folder of files, and no text."""
        return hasattr(self.module, "write")

    @property
    def needs(self) -> tuple[str, ...]:
        """Libraries of the extra of the same name that it cannot do without."""
        needs = getattr(self.module, "NEEDS", ())
        assert isinstance(needs, tuple)
        return needs

    def render(self, report: Report, *, width: int, colour: bool) -> str:
        """The report in this format, which is no folder.

        Args:
            report: What to tell.
            width: Columns of the terminal; formats that are no text for terminals ignore it.
            colour: Whether colour is wanted, likewise.
        """
        options: dict[str, object] = {"width": width, "colour": colour} if self.is_for_terminals else {}
        text = self.module.render(report, **options)
        assert isinstance(text, str)
        return text

    def write(self, report: Report, folder: Path) -> None:
        """Write the report as a folder of files, for a format that is one.

        Raises:
            OSError: The folder cannot be written.
        """
        self.module.write(report, folder)


def format_names() -> tuple[str, ...]:
    """Names of all formats, sorted, without importing any."""
    return tuple(sorted(info.name for info in pkgutil.iter_modules(__path__) if not info.ispkg))


def load_format(name: str) -> Format:
    """One format by name.

    Raises:
        KeyError: There is no such format.
        ValueError: Its module is not a well-formed format.
    """
    if name not in format_names():
        raise KeyError(name)
    module = importlib.import_module(f"{__name__}.{name}")
    suffixes = getattr(module, "SUFFIXES", None)
    ways = [way for way in ("render", "write") if callable(getattr(module, way, None))]
    if len(ways) != 1 or not isinstance(suffixes, tuple):
        raise ValueError(f"{module.__name__}: a format has SUFFIXES, and either render or write")
    return Format(name, suffixes, module)


def format_for_file(name: str) -> Format | None:
    """The format that a file of this name holds, or None: the longest ending that fits decides."""
    formats = [load_format(each) for each in format_names()]
    fits = [(suffix, fmt) for fmt in formats for suffix in fmt.suffixes if name.lower().endswith(suffix)]
    return max(fits, key=lambda fit: len(fit[0]))[1] if fits else None
