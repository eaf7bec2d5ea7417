"""JSON that is decoded value by value from a stream: a trace of gigabytes needs memory for one event.

The standard library's decoder, which is written in C, does the work on a window of the text that slides
over the stream.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator

from ckpt_doctor.readers.limits import Malformed

MAX_VALUE_CHARACTERS = 8 << 20
"""Longest single value. An event of a profiler's trace has a few thousand, with stacks a hundred thousand;
a value of this length made of nothing but brackets decodes to about 200 MB."""
_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"[-+.0-9eE]*")


class JsonText:
    """A position in a JSON text.

    Args:
        chunks: The text in UTF-8, piece by piece; bytes that are no text are replaced.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._decode = codecs.getincrementaldecoder("utf-8-sig")(errors="replace").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._before = 0
        self._ended = False

    def peek(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def value(self) -> object:
        """Decode the value that begins here, and go behind it.

        Raises:
            Malformed: It is no JSON, cut short, or too long.
        """
        self.peek()
        while True:
            try:
                found, end = self._scan(self._text, self._at)
            except RecursionError as error:
                raise Malformed("it is nested too deep to be read") from error
            except ValueError as error:
                if not self._ended and len(self._text) - self._at > MAX_VALUE_CHARACTERS:
                    raise Malformed(
                        f"it has a value of more than {MAX_VALUE_CHARACTERS:,} characters, or is damaged, "
                        f"after {self._position():,} characters"
                    ) from error
                if self._more():
                    continue
                raise self._damaged() from error
            # Only what follows a number tells that it has ended.
            if _NUMBER.fullmatch(self._text, end) is None or not self._more():
                self._at = end
                return found

    def keys(self) -> Iterator[str]:
        """The keys of the object that begins here; each one's value has to be taken before the next key.

        Raises:
            Malformed: It is damaged or cut short.
        """
        for _ in self._elements("{", "}"):
            key = self.value()
            if not isinstance(key, str) or self.peek() != ":":
                raise self._damaged()
            self._at += 1
            yield key

    def items(self) -> Iterator[object]:
        """The values of the array that begins here.

        Raises:
            Malformed: It is damaged or cut short.
        """
        for _ in self._elements("[", "]"):
            yield self.value()

    def _elements(self, opening: str, closing: str) -> Iterator[None]:
        """Stand before each element of an object or array in turn."""
        if self.peek() != opening:
            raise self._damaged()
        self._at += 1
        if self.peek() == closing:
            self._at += 1
            return
        while True:
            yield
            following = self.peek()
            self._at += 1
            if following == closing:
                return
            if following != ",":
                self._at -= 1
                raise self._damaged()

    def _more(self) -> bool:
        """Let the window slide on; False where the text has ended."""
        if self._ended:
            return False
        chunk = next(self._chunks, None)
        self._ended = chunk is None
        self._before += self._at
        self._text = self._text[self._at :] + self._decode(chunk or b"", self._ended)
        self._at = 0
        return True

    def _position(self) -> int:
        return self._before + self._at

    def _damaged(self) -> Malformed:
        return Malformed(
            f"it is cut short or damaged: no JSON after {self._position():,} characters", "export it again"
        )
