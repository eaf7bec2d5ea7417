"""A few lines of text in a checkpoint folder: ``latest``, a counter, flat YAML.

A number becomes a number, lines of the form ``key: value`` a dict, anything else stays text.
"""

from __future__ import annotations

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.tree import Node

NAME = "text"
ORDER = 90

_MAX_BYTES = 4096
_MAX_DIGITS = 18


def claims(reading: Reading) -> bool:
    """A short file within a folder that holds nothing but printable UTF-8."""
    if not reading.source.name or reading.source.size_bytes > _MAX_BYTES:
        return False
    return _text(reading.source.read(0, _MAX_BYTES)) is not None


def read(reading: Reading) -> Document:
    """Take the text apart."""
    text = _text(reading.source.read(0, _MAX_BYTES)) or ""
    return Document(reading.source.name, NAME, _parsed(text.strip()), payload_bytes=len(text))


def _text(raw: bytes) -> str | None:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return None
    return text if all(c.isprintable() or c in "\n\r\t" for c in text) else None


def _parsed(text: str) -> Node:
    number = _number(text)
    if number is not None:
        return number
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    pairs = [line.partition(":") for line in lines if ":" in line and not line[0].isspace()]
    if lines and len(pairs) == len(lines):
        return {key.strip(): _scalar(value.strip()) for key, _, value in pairs}
    return text


def _scalar(text: str) -> Node:
    number = _number(text)
    if number is not None:
        return number
    return {"true": True, "false": False, "null": None}.get(text.lower(), text)


def _number(text: str) -> int | float | None:
    if len(text) > _MAX_DIGITS:
        return None
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        return int(text)
    if digits.isascii() and digits.replace(".", "", 1).isdigit():
        return float(text)
    return None
