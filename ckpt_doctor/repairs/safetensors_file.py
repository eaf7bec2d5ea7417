"""Loads a safetensors file and writes it again, with the text of its header."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ckpt_doctor.errors import CheckpointError, MachineError
from ckpt_doctor.repairs.loaded import Loaded, Places


def load(path: Path, shown: str) -> Loaded:
    """Load a file.

    Args:
        path: The file.
        shown: What it is called in errors.

    Raises:
        CheckpointError: safetensors refuses it.
        MachineError: safetensors or torch is not there.
    """
    try:
        from safetensors import SafetensorError, safe_open
        from safetensors.torch import save_file
    except ImportError as error:
        raise MachineError(
            "a copy of a safetensors file is written by safetensors and torch, which are not both there",
            hint="pip install safetensors",
        ) from error
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata()
            root = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except SafetensorError as error:
        raise CheckpointError(f"{shown}: safetensors does not load it: {error}") from error

    def write(root: Any, places: Places, target: Path) -> None:
        try:
            save_file(root, target, metadata=metadata)
        except SafetensorError as error:
            raise MachineError(f"{target.name}: cannot be written: {error}") from error

    return Loaded(root, {}, write)
