"""Finds the format of a file among the modules of ``readers/checkpoints``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from ckpt_doctor.readers import checkpoints
from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Malformed, Unrecognised


class Format(Protocol):
    """What a module of ``readers/checkpoints`` offers; its docstring says what each is."""

    NAME: str
    ORDER: int

    def claims(self, reading: Reading) -> bool:
        """Whether the file is of this format."""

    def read(self, reading: Reading) -> Document:
        """Decode it."""


@cache
def formats() -> tuple[Format, ...]:
    """All formats in the order in which they are asked.

    Raises:
        ValueError: A module in the folder is no well-formed format.
    """
    found = []
    for info in pkgutil.iter_modules(checkpoints.__path__, f"{checkpoints.__name__}."):
        module = importlib.import_module(info.name)
        missing = [part for part in ("NAME", "ORDER", "claims", "read") if not hasattr(module, part)]
        if missing:
            raise ValueError(f"{info.name}: a format has {', '.join(missing)}")
        found.append(cast(Format, module))
    return tuple(sorted(found, key=lambda each: (each.ORDER, each.NAME)))


def recognise(reading: Reading) -> Format | None:
    """The format of a file; None where no module claims it.

    Raises:
        Malformed: The file is damaged so that its format cannot be told.
    """
    return next((each for each in formats() if each.claims(reading)), None)


def decode_file(reading: Reading) -> Document:
    """Recognise and decode a file.

    Raises:
        Malformed: Its format is not known, or it is damaged.
    """
    if reading.source.size_bytes == 0:
        raise Malformed("it is empty", "an interrupted save leaves such a file: take an earlier checkpoint")
    found = recognise(reading)
    if found is None:
        raise Unrecognised(
            "it is in no format that a PyTorch checkpoint has",
            "inspect reads what torch.save, safetensors or torch.distributed.checkpoint wrote",
        )
    return found.read(reading)
