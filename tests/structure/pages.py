"""The rules' pages as Markdown files that are shipped with the package.

``python -m tests.structure.pages`` writes them anew from the rules' docstrings. A constant that a docstring
names becomes its value: a reader of the page has no use for its name.
"""

from __future__ import annotations

import re
from types import ModuleType

from ckpt_doctor import units
from ckpt_doctor.checks.engine import Rule, catalogue
from tests.structure.source import PACKAGE

FOLDER = PACKAGE / "docs" / "rules"
INDEX = "README.md"

_HEADING = re.compile(r"^(.+)\n-+$", re.MULTILINE)
_WRAPPED = re.compile(r"(?<=\S)\n(?=[^\s*-])")
"""Within a paragraph, which becomes one line: a value at the start of one could begin a list."""
_CONSTANT = re.compile(r"``(?:(?P<module>[a-z_]+)\.)?(?P<name>[A-Z][A-Z_0-9]*)``(?P<times>(?=\s+times))?")


def pages() -> dict[str, str]:
    """Every file's name and text: the index, and a page for each rule."""
    rules = catalogue()
    return {INDEX: _index(rules), **{f"{rule.code}.md": _page(rule) for rule in rules}}


def _page(rule: Rule) -> str:
    text = _CONSTANT.sub(lambda found: _value_told(rule.module, found), rule.doc.strip())
    text = _WRAPPED.sub(" ", _HEADING.sub(r"## \1\n", text)).replace("``", "`")
    return f"# {rule.code} {rule.name}\n\n{text}\n"


def _value_told(module: ModuleType, found: re.Match[str]) -> str:
    """The value of a constant that a rule's module knows; what is none, as a shell's variable, stays."""
    name = found["name"]
    value = getattr(getattr(module, found["module"]) if found["module"] else module, name, None)
    if value is None:
        return found[0]
    if isinstance(value, tuple):
        return _several_told(name, value)
    if name.endswith("RATIO") and value >= 1.0:
        return f"{value:g}" if found["times"] is not None else f"{value:g}×"
    return _told(name, value)


def _several_told(name: str, values: tuple[object, ...]) -> str:
    """A range of numbers, or one of some names."""
    if isinstance(values[0], float):
        return " to ".join(_told(name, value) for value in values if isinstance(value, float))
    *first, last = (f"``{value}``" for value in values)
    return f"{', '.join(first)} or {last}"


def _told(name: str, value: float) -> str:
    """A number in the unit that the name of its constant ends with."""
    if name.endswith("_S"):
        return units.seconds(value)
    if name.endswith("_BYTES"):
        return units.size(value)
    if name.endswith(("SHARE", "RATIO")):
        return units.percent(value)
    return f"{value:g}" if isinstance(value, float) else units.number(value)


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
