"""A small JSON file of a checkpoint folder: ``trainer_state.json``, an index, a configuration."""

from __future__ import annotations

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Malformed

NAME = "json"
ORDER = 50

_MAX_BYTES = 12 << 20


def claims(reading: Reading) -> bool:
    """A file within a folder that begins with a brace."""
    return bool(reading.source.name) and reading.head.lstrip()[:1] == b"{"


def read(reading: Reading) -> Document:
    """Parse it.

    Raises:
        Malformed: It is no JSON, or too long.
    """
    import json

    source = reading.source
    if source.size_bytes > _MAX_BYTES:
        raise Malformed(f"it has {source.size_bytes:,} bytes of JSON, more than the {_MAX_BYTES:,} allowed")
    try:
        root = json.loads(source.read(0, source.size_bytes))
    except (ValueError, RecursionError) as error:
        raise Malformed("it is no valid JSON: the file is damaged or cut short") from error
    return Document(source.name, NAME, root, payload_bytes=source.size_bytes)
