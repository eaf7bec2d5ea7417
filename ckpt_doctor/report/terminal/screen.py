"""A screen to write lines, paragraphs and tables on, which becomes one string.

All text passes through ``harmless``: keys and paths come from files that nobody vouches for, so no
markup is interpreted and no control character reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.terminal.lines import Span, painted, width_of, wrapped

Cell = str | tuple[str, str]
"""Text, or text with a style."""

_MIN_WIDTH = 20
_MAX_WIDTH = 120
"""Longer lines are hard to read, however wide the terminal is."""
_GAP = 2
"""Columns between those of a table."""
_HEADING_STYLE = "dim"


class Column(NamedTuple):
    """A column of a table: its heading, which way it leans, and its style."""

    heading: str
    right: bool = False
    style: str = ""


class Screen:
    """Collects what is written, for a width.

    Args:
        width: Columns of the terminal.
        colour: Whether to write colours; without, the text holds no escape sequence.
    """

    def __init__(self, *, width: int, colour: bool) -> None:
        self.width = max(_MIN_WIDTH, min(width, _MAX_WIDTH))
        self._colour = colour
        self._lines: list[str] = []

    def blank(self) -> None:
        """Leave a line empty."""
        self._lines.append("")

    def line(self, *spans: Cell, indent: int = 0) -> None:
        """Write a paragraph that wraps, of text and text with a style."""
        for line in wrapped([_span(span) for span in spans], self.width - indent):
            self._write([(" " * indent, ""), *line])

    def labelled(self, label: str, text: str, *, style: str = "bold", indent: int = 0) -> None:
        """Write a label with a paragraph that hangs beside it."""
        head = harmless(label)
        hang = indent + width_of(head) + 1
        before: list[Span] = [(" " * indent, ""), (head, style), (" ", "")]
        for line in wrapped([_span(text)], max(1, self.width - hang)):
            self._write([*before, *line])
            before = [(" " * hang, "")]

    def table(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Cell]],
        *,
        indent: int = 0,
        headings: bool = True,
    ) -> None:
        """Write a table without borders; cells hold text or text with a style."""
        lines = [
            [_span(cell, column.style) for cell, column in zip(row, columns, strict=True)] for row in rows
        ]
        if headings:
            lines.insert(0, [(column.heading, _HEADING_STYLE) for column in columns])
        room = self.width - indent - _GAP * (len(columns) - 1)
        widths = _fitting([_widest(cells) for cells in zip(*lines, strict=True)], room)
        for cells in lines:
            self._row(columns, cells, widths, indent)

    def text(self) -> str:
        """Everything that was written, without spaces at the ends of lines."""
        return "\n".join(self._lines).strip("\n") + "\n"

    def _row(
        self, columns: Sequence[Column], cells: Sequence[Span], widths: Sequence[int], indent: int
    ) -> None:
        """Write one row; cells that wrap make it several lines high."""
        wraps = [wrapped([cell], width) for cell, width in zip(cells, widths, strict=True)]
        for parts in zip_longest(*wraps, fillvalue=[]):
            line: list[Span] = [(" " * indent, "")]
            for column, part, width in zip(columns, parts, widths, strict=True):
                line += [*_leaning(part, width, right=column.right), (" " * _GAP, "")]
            self._write(line)

    def _write(self, line: list[Span]) -> None:
        while line and not line[-1][0].strip(" "):
            line.pop()
        self._lines.append(painted(line, self._colour))


def _span(cell: Cell, style: str = "") -> Span:
    words, own = (cell, "") if isinstance(cell, str) else cell
    return harmless(words), own or style


def _widest(cells: Sequence[Span]) -> int:
    return max(width_of(words) for words, _ in cells)


def _leaning(part: list[Span], width: int, *, right: bool) -> list[Span]:
    """A line of a cell, filled up to the column's width."""
    fill = (" " * (width - sum(width_of(words) for words, _ in part)), "")
    return [fill, *part] if right else [*part, fill]


def _fitting(widths: Sequence[int], room: int) -> list[int]:
    """Widths that fit into the room: the widest columns give first, and none gives all."""
    cap = next((cap for cap in range(room, 0, -1) if sum(min(w, cap) for w in widths) <= room), 1)
    left = room - sum(min(width, cap) for width in widths)
    fitting = []
    for width in widths:
        extra = int(width > cap and left > 0)
        left -= extra
        fitting.append(min(width, cap) + extra)
    return fitting
