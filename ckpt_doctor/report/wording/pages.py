"""The pages of the rules, as they are shipped with the package."""

from __future__ import annotations

from importlib import resources


def page(code: str) -> str | None:
    """A rule's page as Markdown; None where this version ships none for it."""
    file = resources.files("ckpt_doctor") / "docs" / "rules" / f"{code}.md"
    return file.read_text("utf-8") if file.is_file() else None
