"""What dynamo says of its recompilations: the guards that failed, the values they watch, and where.

Dynamo's reason is one text: the number of the compilation whose guard failed, the guard itself, and mostly
the line that made it need one, as ``0/0: self.stage == 5  # x = x * self.stage  # model.py:23 in forward``,
with hints and the whole call stack after it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ckpt_doctor.facts.report import Location
from ckpt_doctor.facts.run import Event

LIBRARIES = ("site-packages", "dist-packages", "/lib/python3")
"""Parts of a path whose files are not the user's."""
UNKNOWN = (
    "Keep what changes from step to step out of what is compiled: numbers as tensors, changing sizes with "
    "torch._dynamo.mark_dynamic, state loaded in place."
)
"""What to do where the reason is none of those that are known."""

_NUMBER = re.compile(r"^\S*\d+/\d+\S*: ")
_AFTER_GUARD = re.compile(r"\s+# | \(HINT: |, type=<|\n")
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in ')
_COMMENT = re.compile(r"# (?P<tail>\S+):(?P<line>\d+) in ")
_HELD = re.compile(r"\._(?:modules|parameters|buffers)\['([^']+)'\]")
_LOCAL = re.compile(r"\bL\['([^']+)'\]")
_WATCHED = (
    (r"tensor '(?P<value>.+)' size mismatch", "size"),
    (r"tensor '(?P<value>.+)' (?:\w+ )*?(?P<what>\w+) mismatch", "kind"),
    (r"(?P<what>GLOBAL_STATE) changed: (?P<value>\w+)", "setting"),
    (r".*?(?P<value>[\w.\[\]']+)\.(?:size|stride)\(\)", "size"),
    (r"len\((?P<value>.+)\) [=!]= ", "length"),
    (r"___check_(?:obj|type)_id\((?P<value>[^,]+), ", "object"),
    (r"(?P<value>\S+) is (?:not )?None$", "object"),
    (r"(?P<value>\S+) == -?[\d.]", "number"),
    (r"(?P<value>\S+) == ", "constant"),
)
"""How a guard tells what it watches, and what kind of change made it fail; the first that fits."""
_REMEDIES = {
    "size": "{value} comes in more than one size: pad it to one (or drop the last batch), or mark the "
    "dimension that changes with torch._dynamo.mark_dynamic.",
    "kind": "{value} has another {what} than when it was compiled: give it the same {what} after the load as "
    "in the first run.",
    "setting": "The global setting {value} changes between calls of the compiled code: set it alike around "
    "each of them.",
    "length": "{value} changes its length: keep what grows out of what is compiled, and let the load bring "
    "back as many entries as there were.",
    "object": "{value} is another object than when it was compiled: load into the one that is there (copy_, "
    "load_state_dict), or put the new one in place before the first compiled step.",
    "number": "{value} is a Python number, compiled in as a constant: hold it in a tensor that is changed in "
    "place, and load it back as one. Where it has to stay an integer of a module, set "
    "torch._dynamo.config.allow_unspec_int_on_nn_module = True.",
    "constant": "{value} was compiled in as a constant: set it once, before the first compiled step, to what "
    "it was in the first run, and keep it out of what is compiled where it has to change.",
}


class FailedGuard(NamedTuple):
    """A guard that failed, and so made dynamo compile again."""

    text: str
    """The guard, as ``self.stage == 5``."""
    value: str | None
    """The expression that it watches, as ``self.stage``; None where that is not understood."""
    remedy: str
    location: Location | None
    """The user's line that reads the value, else the function that was compiled again."""


def failed_guards(events: Iterable[Event]) -> tuple[FailedGuard, ...]:
    """The guards that failed, one for each compilation that has a reason, in their order."""
    return tuple(
        _guard(reason, event) for event in events if isinstance(reason := event.fields.get("reason"), str)
    )


def compiled_at(event: Event) -> Location | None:
    """The user's function that was compiled; None where it is not the user's, or was not recorded."""
    file, line = event.fields.get("file"), event.fields.get("line")
    return Location(file, line) if isinstance(file, str) and isinstance(line, int) else None


def _guard(reason: str, event: Event) -> FailedGuard:
    text = _readable(_AFTER_GUARD.split(_NUMBER.sub("", reason), maxsplit=1)[0].strip())
    for pattern, kind in _WATCHED:
        match = re.match(pattern, text)
        if match is not None:
            told = match.groupdict()
            remedy = _REMEDIES[kind].format(**{"what": "kind", **told})
            return FailedGuard(text, told["value"], remedy, _location(reason, event))
    return FailedGuard(text, None, UNKNOWN, _location(reason, event))


def _readable(guard: str) -> str:
    """A guard with its values named as in the source: ``self.layer.weight``, not its dictionaries."""
    return _LOCAL.sub(r"\1", _HELD.sub(r".\1", guard))


def _location(reason: str, event: Event) -> Location | None:
    frames = [(m["file"], int(m["line"])) for m in _FRAME.finditer(reason)]
    own = [frame for frame in frames if not any(part in frame[0] for part in LIBRARIES)]
    if own:
        return Location(*own[-1])
    function = compiled_at(event)
    # The comment beside a guard holds no more than the end of the file's path.
    comment = _COMMENT.search(reason)
    if function is not None and comment is not None and function.file.endswith(comment["tail"]):
        return Location(function.file, int(comment["line"]))
    return function
