"""The report as one self-contained page: it fetches nothing, and shows well on a phone and in print.

Style, pictures and text are in the page; a content security policy forbids everything else. All text is
escaped by the template engine.
"""

from __future__ import annotations

import re
from importlib import resources
from typing import TYPE_CHECKING, Any

from ckpt_doctor import __version__, units
from ckpt_doctor.facts.states import PresenceStatus
from ckpt_doctor.report import wording
from ckpt_doctor.report.terminal.harmless import harmless
from ckpt_doctor.report.wording import checklist

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Report

SUFFIXES = (".html", ".htm")
NEEDS = ("jinja2", "pygal")

_PACKAGE = "ckpt_doctor.report.page"
_TEMPLATE = "page.html.jinja"
_STYLE = "page.css"
_BREAKS = re.compile(r"(?<=\w[/._=,])(?=\w)|(?<=[a-z])(?=[A-Z])")
"""Where a word may be broken: behind a separator, and before a capital letter in a name."""


def render(report: Report) -> str:
    """The report as an HTML page."""
    import jinja2
    from markupsafe import Markup

    def only_text(value: Any) -> Any:
        """What no one vouches for cannot hold control characters either; an arrow is one character."""
        return _worded(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        finalize=only_text,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    template = environment.get_template(_TEMPLATE)
    return (
        template.render(
            report=report,
            comparison=report.comparison,
            findings=wording.by_cost(report),
            pictures=_pictures(report.comparison),
            style=Markup(_read(_STYLE)),
            units=units,
            wording=wording,
            checklist_words=checklist,
            presence=PresenceStatus,
            version=__version__,
        )
        + "\n"
    )


def _worded(text: str) -> str:
    return harmless(text).replace(" -> ", " → ")


def _breakable(value: Any) -> Any:
    """A path, a name or a value that may go on in the next line where a reader would break it."""
    from markupsafe import Markup, escape

    words = _BREAKS.split(_worded(str(value)))
    return Markup("<wbr>").join(escape(word) for word in words)


def _read(name: str) -> str:
    return resources.files(_PACKAGE).joinpath(name).read_text("utf-8")


def _pictures(comparison: Comparison | None) -> dict[str, Any]:
    """The pictures by name, those of the process tree below ``tree``; what has no numbers has no picture."""
    from ckpt_doctor.report.page import pictures

    found: dict[str, Any] = {"tree": {}}
    if comparison is None:
        return found
    found["budget"] = pictures.budget(comparison)
    if comparison.after_start.first_step_s is not None:
        found["start"] = pictures.start(comparison)
    if len(comparison.before.rank.steps) and len(comparison.after.rank.steps):
        found["steps"] = pictures.steps(comparison)
        found["tree"] = pictures.process_tree(comparison)
    return found
