"""What the commands of two runs differ in, beyond what a resume needs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from ckpt_doctor.facts.command import script_end
from ckpt_doctor.facts.comparison import FingerprintChange
from ckpt_doctor.facts.run import RunMeta

SCRIPT = "script"
_RESUME = frozenset(
    {"resume", "resumed", "restart", "continue", "checkpoint", "checkpoints", "ckpt", "load", "restore"}
) | {"pretrained", "init", "from"}
_PLACES = frozenset({"out", "output", "save", "log", "logs", "logging", "dir", "folder", "path", "root"}) | {
    *("run", "runs", "exp", "experiment", "tag", "wandb", "project", "tensorboard"),
    *("port", "rdzv", "master"),
}
"""Words of an option's name that tell of how to resume, or of where things lie: neither is the work."""
_HARMLESS = frozenset(
    {"lr", "learning-rate", "min-lr", "max-lr", "weight-decay", "momentum", "warmup", "warmup-steps"}
) | {
    *("seed", "steps", "max-steps", "num-steps", "epochs", "max-epochs", "num-epochs", "iterations"),
    *("max-iters", "start-epoch", "start-step", "node-rank"),
}
"""Options that do not change what a step costs."""
_WORDS = re.compile(r"[^a-z0-9]+")


def changed_arguments(before: RunMeta, after: RunMeta) -> tuple[FingerprintChange, ...]:
    """Options of the launcher and the script that differ; ``script`` where that itself does.

    What a probe added to the resumed run's command is known and left out. Elsewhere options are left
    out whose names tell of a resume or of a place, and those that do not change what a step costs.
    """
    if after.options.get("after_args") is not None:
        return ()
    commands = [before.command, _without_template(after)]
    sides = [_options(command) for command in commands]
    names = sorted(name for name in sides[0].keys() | sides[1].keys() if _matters(name))
    return tuple(
        FingerprintChange(name, sides[0].get(name), sides[1].get(name))
        for name in names
        if not _same(sides[0].get(name), sides[1].get(name))
    )


def _without_template(after: RunMeta) -> tuple[str, ...]:
    template = after.options.get("resume_args")
    if not isinstance(template, str):
        return after.command
    try:
        patterns = [re.escape(word).replace(r"\{checkpoint\}", ".*") for word in shlex.split(template)]
    except ValueError:
        return after.command
    end = len(after.command) - len(patterns)
    appended = zip(patterns, after.command[end:], strict=False)
    return after.command[:end] if all(re.fullmatch(*pair) for pair in appended) else after.command


def _options(command: Sequence[str]) -> Mapping[str, str]:
    """Options and their values by name; words that belong to no option are numbered."""
    end = script_end(command)
    script = [] if end is None else [(SCRIPT, PurePath(command[end - 1]).name)]
    launcher, own = (command[1:], ()) if end is None else (command[1 : end - 1], command[end:])
    return dict([*script, *_pairs(launcher, "launcher "), *_pairs(own, "")])


def _pairs(words: Sequence[str], prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    place = 0
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if not equals and word.startswith("-") and waiting and not _is_option(waiting[0]):
            name, value = word, waiting.pop(0)
        elif not equals and not word.startswith("-"):
            place += 1
            name, value = f"argument {place}", word
        found.append((prefix + name.lstrip("-+").replace("_", "-"), value))
    return found


def _is_option(word: str) -> bool:
    return word.startswith("-") and not _is_number(word)


def _matters(name: str) -> bool:
    words = set(_WORDS.split(name.lower()))
    return name not in _HARMLESS and not words & (_RESUME | _PLACES)


def _same(before: str | None, after: str | None) -> bool:
    if before is None or after is None:
        return before == after
    if _is_number(before) and _is_number(after):
        return float(before) == float(after)
    return before == after or ("/" in before and PurePath(before).name == PurePath(after).name)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
