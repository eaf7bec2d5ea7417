"""What ``torch.compiler.save_cache_artifacts()`` gives, written to a file of its own.

Source: ``torch/compiler/_cache.py`` and ``torch/utils/_appending_byte_serializer.py``. The content is
compiled code and is never decoded.
"""

from __future__ import annotations

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.survey import is_compile_cache
from ckpt_doctor.readers.tree import Blob

NAME = "compile_cache"
ORDER = 45


def claims(reading: Reading) -> bool:
    """A checksum, version 1, and the name of a cache in base64."""
    return is_compile_cache(reading.head)


def read(reading: Reading) -> Document:
    """The head stands for the whole."""
    return Document(
        reading.source.name, NAME, Blob(memoryview(reading.head)), payload_bytes=reading.source.size_bytes
    )
