"""A captured state in one file, ``state.pt``, that ``torch.load(weights_only=True)`` takes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import torch

from ckpt_doctor.errors import CheckpointError

FILE = "state.pt"


def write_whole(captured: dict[str, Any], folder: Path) -> None:
    """Write it.

    Raises:
        OSError: The disk is full, or refuses.
    """
    write_whole_file(captured, folder / FILE)


def write_whole_file(captured: dict[str, Any], path: Path) -> None:
    """Write a file of the same kind that has another name.

    Raises:
        OSError: The disk is full, or refuses.
    """
    try:
        torch.save(captured, path)
    except RuntimeError as error:  # The captured state is plain: nothing but the disk can go wrong.
        raise OSError(f"{path} cannot be written: is the disk full?") from error


def read_whole(folder: Path) -> dict[str, Any]:
    """Read it onto the CPU; no code in it is run.

    Raises:
        CheckpointError: It is no such file.
    """
    return read_whole_file(folder / FILE)


def read_whole_file(path: Path) -> dict[str, Any]:
    """Read a file of the same kind that has another name.

    Raises:
        CheckpointError: It is no such file.
    """
    try:
        captured: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, pickle.UnpicklingError, EOFError, KeyError) as error:
        raise CheckpointError(f"{path} cannot be loaded: {str(error).splitlines()[0]}") from error
    return captured
