"""What the readers of ``readers/traces`` get: the files that a user named, and what was said about them."""

from __future__ import annotations

import codecs
import gzip
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.text import clean

HEAD_BYTES = 1 << 14
"""How much of each file is looked at to recognise it."""
CHUNK_BYTES = 1 << 20
MAX_LINE_CHARACTERS = 1 << 20
"""Longest line of a text file."""
_GZIP = b"\x1f\x8b"
_BREAK = re.compile("\r\n|\n|\r")
"""Progress bars go back to the start of their line: each of their states is a line of its own."""
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

Progress = Callable[[str, float | None], None]
"""Takes what is being done, and which part of it is done (0 to 1; None where nobody knows)."""


def untold(message: str, done_ratio: float | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Hints:
    """What the user says about evidence that does not explain itself."""

    log_pattern: str | None = None
    """Regular expression for the lines of a log, with the fields of ``columns.FIELDS`` as named groups."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """What the columns of a table are called, by field."""


@dataclass(eq=False, repr=False)
class TraceFile:
    """A regular file, compressed with gzip or not, that is read from its beginning."""

    path: str
    name: str
    """Name within the folder that was given; empty where the file itself was given."""
    size_bytes: int
    progress: Progress = untold
    _head: bytes | None = None

    @property
    def head(self) -> bytes:
        """The first bytes of its content; empty where it cannot be read."""
        if self._head is None:
            self._head = self._first_bytes()
        return self._head

    @property
    def head_text(self) -> str:
        """The head as text; empty where it is none."""
        if b"\0" in self.head and self._encoding() != "utf-16":
            return ""
        return codecs.getincrementaldecoder(self._encoding())(errors="replace").decode(self.head)

    def chunks(self) -> Iterator[bytes]:
        """Its content, piece by piece.

        Raises:
            Malformed: It cannot be read, or its compressed data are damaged.
        """
        shown = clean(os.path.basename(self.path))
        try:
            with open(self.path, "rb") as raw:
                stream = self._content(raw)
                while chunk := stream.read(CHUNK_BYTES):
                    self.progress(f"reading {shown}", min(1.0, raw.tell() / max(1, self.size_bytes)))
                    yield chunk
        except EOFError as error:
            raise Malformed("its compressed data are cut short", "copy or export it again") from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise Malformed("its compressed data are damaged", "copy or export it again") from error
        except OSError as error:
            raise Malformed(f"it cannot be read: {error.strerror}") from error

    def lines(self) -> Iterator[str]:
        """Its lines as text, without their ends; bytes that are no text are replaced.

        Raises:
            Malformed: It cannot be read, or a line is too long.
        """
        decoder = codecs.getincrementaldecoder(self._encoding())(errors="replace")
        rest = ""
        for chunk in self.chunks():
            *whole, rest = _BREAK.split(rest + decoder.decode(chunk))
            yield from whole
            if len(rest) > MAX_LINE_CHARACTERS:
                raise Malformed(f"it has a line of more than {MAX_LINE_CHARACTERS:,} characters")
        rest += decoder.decode(b"", True)
        if rest:
            yield rest

    def _encoding(self) -> str:
        return next((name for mark, name in _MARKS.items() if self.head.startswith(mark)), "utf-8")

    def _first_bytes(self) -> bytes:
        try:
            with open(self.path, "rb") as raw:
                return self._content(raw).read(HEAD_BYTES)
        except (OSError, EOFError, zlib.error):
            return b""

    def _content(self, raw: BinaryIO) -> BinaryIO:
        zipped = raw.read(len(_GZIP)) == _GZIP
        raw.seek(0)
        return gzip.GzipFile(fileobj=raw) if zipped else raw  # type: ignore[return-value]


@dataclass(eq=False, repr=False)
class Evidence:
    """The files of one kind that were given, or found in the folder that was given."""

    path: str
    files: tuple[TraceFile, ...]
    hints: Hints


class Kind(Protocol):
    """What a module of ``readers/traces`` offers; its docstring says what each is."""

    NAME: str
    ORDER: int
    IN_FOLDERS: bool

    def claims(self, file: TraceFile, hints: Hints) -> bool:
        """Whether the file is of this kind."""

    def read(self, evidence: Evidence) -> list[RunRecord]:
        """The runs that it tells of, oldest first."""


def trace_file(path: str, name: str, progress: Progress) -> TraceFile | None:
    """A file to be recognised; None where there is no regular file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return TraceFile(path, name, status.st_size, progress) if stat.S_ISREG(status.st_mode) else None
