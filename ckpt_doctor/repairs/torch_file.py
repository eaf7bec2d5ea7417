"""Loads what torch.save wrote, with ``weights_only=True`` and never without, and writes it again.

Beyond what torch allows by itself only numpy's arrays and numbers are let in, which hold no code either:
complete checkpoints keep the state of numpy's generator. Every storage is loaded onto the CPU.
"""

from __future__ import annotations

import pickle
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ckpt_doctor.errors import CheckpointError, MachineError
from ckpt_doctor.readers.text import clean
from ckpt_doctor.repairs.loaded import Loaded, Places

_BROKEN = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, OSError),
    *(RuntimeError, TypeError, ValueError, struct.error),
)
"""What torch raises for a damaged file, which it reads with few checks."""
_FIRST = 0
"""Priority before torch's own taggers, which begin at 10."""
_SHOWN = 5
_NUMPY_CODES = "?bhilqBHILQefdFD"
"""Types of elements that are numbers; an array of objects could hold anything."""
_NUMPY_CORES = ("numpy.core", "numpy._core")
"""Where numpy 1 and numpy 2 keep them."""
_PROTOCOL = re.compile(r"Unsupported operand \d+")
_NAME = re.compile(r"GLOBAL (\S+)")


def load(path: Path, shown: str) -> Loaded:
    """Load a file.

    Args:
        path: The file.
        shown: What it is called in errors.

    Raises:
        CheckpointError: It does not load with ``weights_only=True``.
        MachineError: torch is not there, or too old.
    """
    serialization = _serialization()
    import torch

    places: Places = {}

    def on_cpu(storage: Any, location: str) -> Any:
        if location != "cpu":
            places[int(storage._cdata)] = (storage, location)
        return storage

    with serialization.safe_globals(_numpy_names()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of protocols and deprecations: what matters becomes an error
        try:
            root = torch.load(path, map_location=on_cpu, weights_only=True, mmap=_can_be_mapped(path))
        except pickle.UnpicklingError as error:
            raise _refusal(path, shown, str(error)) from error
        except _BROKEN as error:
            raise CheckpointError(
                f"{shown}: torch.load with weights_only=True fails: {_first_line(error)}"
            ) from error
    return Loaded(root, places, _write)


def _write(root: Any, places: Places, path: Path) -> None:
    import torch

    wanted = _wanted_places()
    wanted.update({key: location for key, (_, location) in places.items()})
    try:
        with open(path, "wb") as file:
            torch.save(root, file)
    except RuntimeError as error:  # its writer hides what the disk said
        raise MachineError(f"{path.name}: cannot be written: {_first_line(error)}") from error
    finally:
        wanted.clear()


@cache
def _wanted_places() -> dict[int, str]:
    """Where torch.save is to say that a storage lies, by its address; empty but during a save.

    torch asks the device of each storage, and takes what the first of its taggers answers.
    """
    wanted: dict[int, str] = {}
    _serialization().register_package(
        _FIRST, lambda storage: wanted.get(int(storage._cdata)), lambda storage, location: None
    )
    return wanted


def _serialization() -> Any:
    """The module ``torch.serialization``.

    Raises:
        MachineError: torch is not there, or older than 2.6, whose weights_only can be told what to allow.
    """
    try:
        import torch
    except ImportError as error:
        raise MachineError("a repaired copy is written by torch, which is not there") from error
    if not hasattr(torch.serialization, "get_unsafe_globals_in_checkpoint"):
        raise MachineError(
            f"repairs need torch 2.6 or newer, and this is {torch.__version__}",
            hint="pip install --upgrade torch",
        )
    return torch.serialization


def _numpy_names() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """Arrays and numbers of numpy, under the names of both of its major versions."""
    try:
        import numpy
    except ImportError:
        return []
    makers: list[Any] = [numpy.zeros(0).__reduce__()[0], numpy.float64(0).__reduce__()[0]]
    return [
        *((maker, f"{package}.multiarray.{maker.__name__}") for maker in makers for package in _NUMPY_CORES),
        *(numpy.ndarray, numpy.dtype),
        *{type(numpy.dtype(code)) for code in _NUMPY_CODES},
    ]


def _can_be_mapped(path: Path) -> bool:
    """Whether the file can be mapped into memory: torch would take a compressed record for its content."""
    try:
        with zipfile.ZipFile(path) as archive:
            return all(each.compress_type == zipfile.ZIP_STORED for each in archive.infolist())
    except (zipfile.BadZipFile, OSError):
        return False


def _refusal(path: Path, shown: str, message: str) -> CheckpointError:
    """Why ``weights_only`` refuses a file: the names that it would have to call, where they can be told."""
    names = _foreign_names(path) or sorted({clean(name) for name in _NAME.findall(message)})
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        return CheckpointError(
            f"{shown}: it holds objects of classes that weights_only=True does not load: "
            f"{', '.join(names[:_SHOWN])}{more}",
            hint="Save tensors, numbers, text and plain containers in their place; "
            "it is not loaded in any other way, since that could run code.",
        )
    if _PROTOCOL.search(message):
        return CheckpointError(
            f"{shown}: weights_only=True does not read the pickle protocol that it was saved with",
            hint="Save it with torch.save's own protocol, 2.",
        )
    return CheckpointError(f"{shown}: weights_only=True does not load it")


def _foreign_names(path: Path) -> list[str]:
    try:
        return sorted(clean(name) for name in _serialization().get_unsafe_globals_in_checkpoint(path))
    except (RuntimeError, ValueError, OSError, pickle.UnpicklingError):
        return []  # no zip archive, or written in another protocol: the message has to do


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
