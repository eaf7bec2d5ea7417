"""Stable-Baselines3: a zip of torch.save archives, with the counters as JSON in ``data``.

Source: ``stable_baselines3/common/save_util.py``. Values in ``data`` that are pickles in base64 are
left alone.
"""

from __future__ import annotations

from ckpt_doctor.readers.checkpoints import torch_zip
from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.sources import Window
from ckpt_doctor.readers.tree import Global, Node

NAME = "sb3_zip"
ORDER = 15

_VERSION = "_stable_baselines3_version"
_MAX_JSON = 12 << 20


def claims(reading: Reading) -> bool:
    """A zip with the version record of Stable-Baselines3."""
    return reading.is_zip and _VERSION in reading.archive


def read(reading: Reading) -> Document:
    """Decode ``data`` and each torch.save archive within.

    Raises:
        Malformed: The archive is damaged or exceeds a limit.
    """
    import json

    archive = reading.archive
    root: dict[Node, Node] = {}
    names: list[Global] = []
    for name in archive:
        if name.endswith(".pth"):
            start, length = archive.window(name)
            inner = torch_zip.read(Reading(Window(reading.source, name, start, length), reading.budget))
            root[name.removesuffix(".pth")] = inner.root
            names.extend(inner.globals)
    if "data" in archive:
        try:
            root["data"] = json.loads(archive.read("data", _MAX_JSON))
        except (ValueError, RecursionError) as error:
            raise Malformed("its record data is no valid JSON") from error
    return Document(reading.source.name, NAME, root, tuple(names))
