"""The hooks that there are, found by scanning ``signals/hooks``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import NamedTuple

from ckpt_doctor.signals import hooks as package
from ckpt_doctor.signals.contract import Install, Signal


class Hook(NamedTuple):
    """One module of ``signals/hooks``."""

    name: str
    signals: tuple[Signal, ...]
    needs: tuple[str, ...]
    install: Install


def hooks() -> Iterator[Hook]:
    """All hooks, by file name.

    Raises:
        AttributeError: A module lacks what a hook must have.
    """
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        yield Hook(info.name, module.SIGNALS, module.NEEDS, module.install)
