"""Findings become text, and nothing is judged here.

An output format is one module in this folder, named after itself: ``report/json.py`` is
``--format json``. It has ``SUFFIXES``, the endings of files that hold it, and
``render(report) -> str``; a format for terminals also takes ``width`` (columns) and ``colour``.
Formats are found by scanning; what several of them share lies in a package beside them.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import NamedTuple

from ckpt_doctor.facts.report import Report


class Format(NamedTuple):
    """One output format, with the module that renders it."""

    name: str
    suffixes: tuple[str, ...]
    module: ModuleType

    @property
    def is_for_terminals(self) -> bool:
        """Whether the width of a terminal and its colours matter."""
        return "width" in inspect.signature(self.module.render).parameters

    def render(self, report: Report, *, width: int, colour: bool) -> str:
        """The report in this format.

        Args:
            report: What to tell.
            width: Columns of the terminal; formats that are no text for terminals ignore it.
            colour: Whether colour is wanted, likewise.
        """
        options: dict[str, object] = {"width": width, "colour": colour} if self.is_for_terminals else {}
        text = self.module.render(report, **options)
        assert isinstance(text, str)
        return text


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
    if not callable(getattr(module, "render", None)) or not isinstance(suffixes, tuple) or not suffixes:
        raise ValueError(f"{module.__name__}: a format has render(report) and SUFFIXES")
    return Format(name, suffixes, module)


def format_for_suffix(suffix: str) -> Format | None:
    """The format that files with this ending (as ``.json``) hold, or None."""
    formats = (load_format(name) for name in format_names())
    return next((fmt for fmt in formats if suffix.lower() in fmt.suffixes), None)
