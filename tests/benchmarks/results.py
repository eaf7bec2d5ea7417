"""Writes what a benchmark measured into RESULTS.md: one section each, replaced when it runs again."""

from __future__ import annotations

from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")
HEAD = "# Measured\n\nWritten by the scripts of this folder; each section says when and by what command.\n"


def write_section(title: str, body: str, path: Path = RESULTS) -> None:
    """Put a section into the file, in place of an older one of the same title."""
    text = path.read_text(encoding="utf-8") if path.exists() else HEAD
    sections = dict(_sections(text))
    sections[title] = body.strip() + "\n"
    parts = [HEAD, *(f"## {name}\n\n{content.strip()}\n" for name, content in sections.items())]
    path.write_text("\n".join(parts), encoding="utf-8")


def _sections(text: str) -> list[tuple[str, str]]:
    found = []
    for part in text.split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        found.append((title.strip(), body))
    return found
