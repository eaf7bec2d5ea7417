"""torch.save before PyTorch 1.6, and with ``_use_new_zipfile_serialization=False``: a stream of pickles."""

from __future__ import annotations

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.streams import decode_stream, is_stream

NAME = "torch_legacy"
ORDER = 30


def claims(reading: Reading) -> bool:
    """A pickle whose first value is torch's magic number, written as a literal."""
    return is_stream(reading.head)


def read(reading: Reading) -> Document:
    """Decode the fourth pickle and skip the storages.

    Raises:
        Malformed: It is damaged or exceeds a limit.
    """
    stream = decode_stream(reading.source, reading.budget)
    return Document(
        reading.source.name,
        NAME,
        stream.root,
        stream.globals,
        stream.payload_bytes,
        notes=stream.notes,
        missing_parts=stream.missing_parts,
    )
