"""Finds out what a recorded run was resumed from, where no probe has told it.

``ckpt-doctor record`` watches one run and knows of no other. Of two recordings the second one tells what it
has loaded, and the first one in which step it had saved that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ckpt_doctor.facts.run import RunRecord


def joined(before: RunRecord, after: RunRecord) -> tuple[RunRecord, RunRecord]:
    """Two recordings with the step of the save and the checkpoint that lies between them.

    Args:
        before: A recorded run that saved.
        after: One that loaded what the first one had saved last under its path.

    Returns:
        The same two where that is known already, or cannot be seen.
    """
    if before.meta.origin_step is not None or after.meta.checkpoint is not None:
        return before, after
    loaded = sorted(set(_loaded(after)))
    steps = [step for step, path in _saved(before) if any(_is_within(each, path) for each in loaded)]
    if not steps:
        return before, after
    saved = [path for step, path in _saved(before) if step == max(steps)]
    checkpoint = _place([each for each in loaded if any(_is_within(each, path) for path in saved)])
    return (
        replace(before, meta=replace(before.meta, origin_step=max(steps), checkpoint=checkpoint)),
        replace(after, meta=replace(after.meta, origin_step=0, checkpoint=checkpoint)),
    )


def _loaded(run: RunRecord) -> Iterator[str]:
    """What was loaded before the first step."""
    for rank in run.ranks:
        for event in rank.events_of("load"):
            path = event.fields.get("path")
            if event.step == 0 and isinstance(path, str):
                yield path


def _saved(run: RunRecord) -> Iterator[tuple[int, str]]:
    """In which step which file or folder was saved."""
    for rank in run.ranks:
        for event in rank.events_of("save"):
            path = event.fields.get("path")
            if isinstance(path, str):
                yield event.step, path


def _is_within(path: str, place: str) -> bool:
    return path == place or path.startswith(place + os.sep)


def _place(paths: Sequence[str]) -> str:
    """The file, or the folder that holds the files."""
    return paths[0] if len(paths) == 1 else os.path.commonpath(list(paths))
