"""Files that are often taken for a PyTorch checkpoint and are none: named for what they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Foreign

NAME = "foreign"
ORDER = 80


class _Kind(NamedTuple):
    what: str
    hint: str
    matches: Callable[[bytes], bool]


def _starts(*magics: bytes) -> Callable[[bytes], bool]:
    return lambda head: head.startswith(magics)


def _is_web_page(head: bytes) -> bool:
    return head[:64].lstrip().lower().startswith((b"<!doctype", b"<html"))


def _is_onnx(head: bytes) -> bool:
    """A ModelProto: ir_version (field 1), then one of the fields that follow it."""
    return head[:1] == b"\x08" and len(head) > 3 and 1 <= head[1] <= 20 and head[2] in b"\x12\x1a\x22\x3a\x42"


def _is_tensorflow(head: bytes) -> bool:
    """The header entry that begins every ``.index`` table (tensor_bundle.proto)."""
    return head[:1] == b"\0" and b"\x08\x01\x1a\x02\x08\x01" in head[:64]


_UNPACK = "unpack it first"
_INTERRUPTED = "an interrupted save or copy leaves such a file: take an earlier checkpoint"
_OTHER = "inspect reads PyTorch training checkpoints"

_TENSORFLOW = _Kind("a part of a TensorFlow checkpoint", _OTHER, _is_tensorflow)
_TENSORFLOW_NAME = r"\.(index|data-\d{5}-of-\d{5})$"
"""Its data files are nothing but tensors, and the first key of an index may be any."""

_KINDS: tuple[_Kind, ...] = (
    _Kind("a Git LFS pointer, not the file itself", "run git lfs pull", _starts(b"version https://git-lfs")),
    _Kind("a web page, not a checkpoint", "download it again: this is an error page", _is_web_page),
    _Kind("gzip-compressed", _UNPACK, _starts(b"\x1f\x8b")),
    _Kind("zstd-compressed", _UNPACK, _starts(b"\x28\xb5\x2f\xfd")),
    _Kind("bzip2-compressed", _UNPACK, _starts(b"BZh")),
    _Kind("xz-compressed", _UNPACK, _starts(b"\xfd7zXZ")),
    _Kind("a 7z archive", _UNPACK, _starts(b"7z\xbc\xaf\x27\x1c")),
    _Kind("a RAR archive", _UNPACK, _starts(b"Rar!")),
    _Kind("a GGUF model, for inference with llama.cpp", _OTHER, _starts(b"GGUF")),
    _Kind("a GGML model, for inference with llama.cpp", _OTHER, _starts(b"ggml", b"lmgg", b"tjgg", b"fmgg")),
    _Kind("an HDF5 file, as Keras writes them", _OTHER, _starts(b"\x89HDF\r\n")),
    _Kind("a part of an Orbax checkpoint (JAX)", _OTHER, _starts(b"\x0c\xdb\x3a\x2a")),
    _Kind("a numpy array file", _OTHER, _starts(b"\x93NUMPY")),
    _Kind("an SQLite database", _OTHER, _starts(b"SQLite format 3\0")),
    _Kind("an ONNX model, for inference", _OTHER, _is_onnx),
    _Kind("a TensorFlow checkpoint's list", _OTHER, _starts(b"model_checkpoint_path:")),
    _TENSORFLOW,
    _Kind("an ELF program or library", _OTHER, _starts(b"\x7fELF")),
    _Kind("nothing but zero bytes", _INTERRUPTED, lambda h: len(h) >= 16 and not any(h)),
)  # fmt: skip


def claims(reading: Reading) -> bool:
    """One of the magics, or a name that only TensorFlow gives."""
    return _kind(reading) is not None


def read(reading: Reading) -> Document:
    """Decline it.

    Raises:
        Foreign: Always, saying what the file is.
    """
    kind = _kind(reading)
    assert kind is not None
    raise Foreign(f"it is {kind.what}", kind.hint)


def _kind(reading: Reading) -> _Kind | None:
    known = next((kind for kind in _KINDS if kind.matches(reading.head)), None)
    if known is None and re.search(_TENSORFLOW_NAME, reading.called):
        return _TENSORFLOW
    return known
