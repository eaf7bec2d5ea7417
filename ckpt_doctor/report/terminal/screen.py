"""A screen to write lines, paragraphs and tables on, which becomes one string.

All text passes through ``harmless``: keys and paths come from files that nobody vouches for, so no
markup is interpreted and no control character reaches the terminal.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ckpt_doctor.report.terminal.harmless import harmless

Cell = str | tuple[str, str]
"""Text, or text with a style."""

_MAX_WIDTH = 120
"""Longer lines are hard to read, however wide the terminal is."""


class Column(NamedTuple):
    """A column of a table: its heading, which way it leans, and its style."""

    heading: str
    right: bool = False
    style: str = ""


class Screen:
    """Collects what is written and renders it for a width.

    Args:
        width: Columns of the terminal.
        colour: Whether to write colours; without, the text holds no escape sequence.
    """

    def __init__(self, *, width: int, colour: bool) -> None:
        self._buffer = io.StringIO()
        self.width = max(20, min(width, _MAX_WIDTH))
        self._console = Console(
            file=self._buffer,
            width=self.width,
            force_terminal=colour,
            color_system="standard" if colour else None,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )

    def blank(self) -> None:
        """Leave a line empty."""
        self._console.print()

    def line(self, *spans: Cell, indent: int = 0) -> None:
        """Write a paragraph that wraps, of text and text with a style."""
        self._console.print(Padding(_text(spans), (0, 0, 0, indent)))

    def labelled(self, label: str, text: str, *, style: str = "bold", indent: int = 0) -> None:
        """Write a label with a paragraph that hangs beside it."""
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(_text([(label, style)]), _text([text]))
        self._console.print(Padding(grid, (0, 0, 0, indent)))

    def table(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[Cell]],
        *,
        indent: int = 0,
        headings: bool = True,
    ) -> None:
        """Write a table without borders; cells hold text or text with a style."""
        table = Table(
            box=None, show_header=headings, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False
        )
        for column in columns:
            table.add_column(
                Text(column.heading),
                justify="right" if column.right else "left",
                style=column.style,
                overflow="fold",
            )
        for row in rows:
            table.add_row(*(_text([cell]) for cell in row))
        self._console.print(Padding(table, (0, 0, 0, indent)))

    def text(self) -> str:
        """Everything that was written, without spaces at the ends of lines."""
        lines = (line.rstrip() for line in self._buffer.getvalue().splitlines())
        return "\n".join(lines).strip("\n") + "\n"


def _text(spans: Sequence[Cell]) -> Text:
    text = Text(overflow="fold")
    for span in spans:
        words, style = (span, "") if isinstance(span, str) else span
        text.append(harmless(words), style=style)
    return text
