"""The rules' pages as Markdown files that are shipped with the package.

``python -m tests.structure.pages`` writes them anew from the rules' docstrings.
"""

from __future__ import annotations

import re

from ckpt_doctor.checks.engine import Rule, catalogue
from tests.structure.source import PACKAGE

FOLDER = PACKAGE / "docs" / "rules"
INDEX = "README.md"

_HEADING = re.compile(r"^(.+)\n-+$", re.MULTILINE)


def pages() -> dict[str, str]:
    """Every file's name and text: the index, and a page for each rule."""
    rules = catalogue()
    return {INDEX: _index(rules), **{f"{rule.code}.md": _page(rule) for rule in rules}}


def _page(rule: Rule) -> str:
    text = _HEADING.sub(r"## \1\n", rule.doc.strip()).replace("``", "`")
    return f"# {rule.code} {rule.name}\n\n{text}\n"


def _index(rules: tuple[Rule, ...]) -> str:
    rows = [f"| [{rule.code}]({rule.code}.md) | {rule.name} | {_summary(rule)} |\n" for rule in rules]
    return f"# Rules\n\n| code | name | what it says |\n|---|---|---|\n{''.join(rows)}"


def _summary(rule: Rule) -> str:
    return rule.doc.partition("\n\n")[0].replace("\n", " ").replace("``", "`").replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for stale in FOLDER.glob("*.md"):
        stale.unlink()
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
