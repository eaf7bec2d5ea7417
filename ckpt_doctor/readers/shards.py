"""Shards of a checkpoint that its index names, or the numbers of its files imply, and that are not there."""

from __future__ import annotations

import posixpath
import re

from ckpt_doctor.readers.documents import Bundle, Document
from ckpt_doctor.readers.text import clean

_NUMBERED = r"(?P<stem>.*)-(?P<index>\d{5})-of-(?P<total>\d{5})(?P<suffix>\.[a-z]+)"
_MAX_SHARDS = 4096


def absent_shards(document: Document, bundle: Bundle) -> list[str]:
    """Names of files that belong to the same weights as a document and that the folder lacks.

    An index (``*.index.json`` with ``weight_map``) names them; without one, ``-0000i-of-0000n`` does.
    """
    folder = posixpath.dirname(document.name)
    return sorted(name for name in _named(document) if posixpath.join(folder, name) not in bundle.files)


def _named(document: Document) -> set[str]:
    root = document.root
    if document.name.endswith(".index.json") and isinstance(root, dict):
        weight_map = root.get("weight_map")
        if isinstance(weight_map, dict):
            return {clean(name) for name in weight_map.values() if isinstance(name, str)}
    match = re.fullmatch(_NUMBERED, posixpath.basename(document.name))
    if match is not None and int(match["index"]) == 1 and int(match["total"]) <= _MAX_SHARDS:
        total = int(match["total"])
        return {f"{match['stem']}-{i:05d}-of-{total:05d}{match['suffix']}" for i in range(1, total + 1)}
    return set()
