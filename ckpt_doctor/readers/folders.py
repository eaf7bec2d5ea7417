"""Which checkpoint of a folder is meant: pointers such as ``latest`` and numbered series are followed.

A run leaves ``checkpoint-500``, ``checkpoint-1000`` and so on, or one numbered file after another. A
resume takes the newest, so that is the one to read; the path of what is read says which.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ckpt_doctor.readers.stores import Store, pointer_text

_SUFFIXES = (".pt", ".pth", ".ckpt", ".tar", ".pkl")
_MAX_STEPS = 4
_POINTERS = ("latest", "latest_checkpointed_iteration.txt", "last_checkpoint", "latest_universal")
_SERIES_FOLDER = (
    r"(?i)(.*[-_.=+])?(checkpoint|ckpt|step|steps|epoch|iter|iteration|global_step|save)[-_=+]?\d+(-state)?"
)
_SERIES_FILE = (
    r"(?i).*(ckpt|checkpoint|epoch|step|iter|model|snapshot|state|weights)[^/]*\d[^/]*|[GD]_\d+\.pth"
)
_NOT_SERIES = r".*(rank|shard|-of-|layer_|random_states|rng_state|optim|scheduler|sampler|\.json|\.txt).*"
_WHOLE_FOLDER = ("trainer_state.json", ".metadata", "CKPT.yaml", "random_states_0.pkl", ".snapshot_metadata")
"""Files that make a folder one checkpoint, whatever else it holds."""
_LATEST_FILES = r"(last|latest)(-v\d+)?\.(ckpt|pt|pth)|checkpoint_last\.pt|latest-rank\d+\.pt"


class Choice(NamedTuple):
    """What is to be read."""

    path: str
    """A file or a folder."""
    skipped: frozenset[str] = frozenset()
    """Top-level names of the folder that belong to other checkpoints."""


def choose(store: Store, path: str) -> Choice:
    """Follow pointers and series from a folder down to the newest checkpoint in it.

    Raises:
        Malformed: The folder cannot be listed.
    """
    for _ in range(_MAX_STEPS):
        folders, files = store.listing(path)
        tagged = _tagged(store, path, folders, files)
        if tagged is not None:
            return tagged
        pointed = _pointed(store, path, folders, files)
        below = pointed or _newest_folder(folders, files) or _newest_file(files)
        if below is None:
            return Choice(path, _copies(files))
        path = store.join(path, below)
        if below not in folders:
            return Choice(path)
    return Choice(path)


def _copies(files: list[str]) -> frozenset[str]:
    """``model_best.pth.tar`` beside ``checkpoint.pth.tar``: no run resumes from the copy of the best."""
    best = {name for name in files if "best" in name.lower() and name.endswith(_SUFFIXES)}
    others = [name for name in files if name not in best and name.endswith(_SUFFIXES)]
    return frozenset(best) if others else frozenset()


def _tagged(store: Store, path: str, folders: list[str], files: list[str]) -> Choice | None:
    """Frameworks that keep state beside the newest numbered folder: both are read, others are not.

    DeepSpeed names the folder in ``latest``; torchtune's ``recipe_state`` belongs to the newest epoch.
    """
    tag = pointer_text(store, store.join(path, "latest")) if "latest" in files else ""
    if "recipe_state" in folders:
        tag = max((name for name in folders if re.fullmatch(_SERIES_FOLDER, name)), key=numbers, default="")
    if tag not in folders:
        return None
    others = frozenset(
        name for name in folders if name != tag and numbers(name) and re.fullmatch(_SERIES_FOLDER, name)
    )
    return Choice(path, others)


def _pointed(store: Store, path: str, folders: list[str], files: list[str]) -> str | None:
    for pointer in _POINTERS:
        if pointer in files:
            text = pointer_text(store, store.join(path, pointer))
            name = posixpath.basename(text.replace("\\", "/"))
            for candidate in (name, *_numbered(name)):
                if candidate and (candidate in folders or (candidate in files and candidate != pointer)):
                    return candidate
    return None


def _numbered(name: str) -> tuple[str, ...]:
    """Folders of Megatron and verl that a pointer names by their number alone."""
    if not name.isdecimal() or len(name) >= 12:
        return ()
    return f"iter_{int(name):07d}", f"global_step_{int(name)}"


def _newest_folder(folders: list[str], files: list[str]) -> str | None:
    series = [name for name in folders if re.fullmatch(_SERIES_FOLDER, name)]
    if any(name in files for name in _WHOLE_FOLDER):
        return None
    if len(series) > 1 or (len(series) == 1 and not any(_is_state(name) for name in files)):
        return max(series, key=lambda name: (numbers(name), name))
    if len(folders) == 1 and not files:
        return folders[0]
    return None


def _is_state(name: str) -> bool:
    return "optim" in name.lower() or name.endswith((".pt", ".pth", ".ckpt"))


def _newest_file(files: list[str]) -> str | None:
    if any(name in files for name in _WHOLE_FOLDER):
        return None
    series = _largest_series(
        name for name in files if re.fullmatch(_SERIES_FILE, name) and not re.fullmatch(_NOT_SERIES, name)
    )
    if len(series) < 2:
        return None
    latest = [name for name in files if re.fullmatch(_LATEST_FILES, name)]
    newest = latest[-1] if latest else max(series, key=lambda name: (numbers(name), name))
    companions = [name for name in files if name != newest and numbers(name)[:1] == numbers(newest)[:1]]
    return None if companions and not latest and _are_parts(companions) else newest


def _are_parts(names: list[str]) -> bool:
    """Whether files of the same number are parts of one checkpoint (nanochat), not checkpoints."""
    return any(re.fullmatch(_NOT_SERIES, name) for name in names)


def _largest_series(names: Iterable[str]) -> list[str]:
    groups: dict[str, list[str]] = {}
    for name in names:
        if name.endswith(_SUFFIXES):
            groups.setdefault(re.sub(r"\d+", "#", name), []).append(name)
    return max(groups.values(), key=len, default=[])


def numbers(name: str) -> tuple[int, ...]:
    """All numbers in a name, in order."""
    return tuple(int(digits) for digits in re.findall(r"\d{1,15}", name))


def without(files: Mapping[str, int], skipped: frozenset[str]) -> dict[str, int]:
    """Files whose top-level folder is not to be skipped."""
    return {name: size for name, size in files.items() if name.partition("/")[0] not in skipped}
