"""The workers of the loaders live on from epoch to epoch."""

from __future__ import annotations

from collections import Counter

from ckpt_doctor.checks.answers import failed, unknown
from ckpt_doctor.checks.loading import RESTARTS, loaders_with_workers
from ckpt_doctor.facts.checklist import ChecklistCase, ItemStatus, Judged
from ckpt_doctor.facts.comparison import Comparison, Window
from ckpt_doctor.facts.run import Event

TITLE = "persistent workers"
RULES = ("DAT204", "DAT205")

LOADER = "loader"
"""Signal of a loader's first use, with its arguments."""
START = "worker_start"


def judge(case: ChecklistCase) -> Judged:
    """Judge the worker starts within the resumed run's window, and the arguments of its loaders."""
    return failed(case, RULES) or unknown(case, RULES) or _seen(case.comparison)


def _seen(comparison: Comparison) -> Judged:
    if LOADER in comparison.not_measured:
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence=comparison.not_measured[LOADER])
    window = comparison.after
    loaders = loaders_with_workers(window)
    if not loaders and not _until_the_end(window, START):
        return Judged(status=ItemStatus.CHECKED, sentence=_none_has_workers(comparison))
    starts = window.events_within(START)
    told = f"{len(starts) or 'no'} start{'' if len(starts) < 2 else 's'} within {window.steps} steps"
    kept = all(event.fields.get("persistent_workers") for event in loaders)
    if _most_at_one_line(starts) >= RESTARTS or (starts and not kept):
        return Judged(status=ItemStatus.FAILED, sentence=told)
    if not loaders:
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence="the loader was not described")
    if not kept:
        why = f"off; no epoch ended within {window.steps} steps"
        return Judged(status=ItemStatus.NOT_EVALUATED, sentence=why)
    return Judged(status=ItemStatus.CHECKED, sentence=f"on; {told}")


def _none_has_workers(comparison: Comparison) -> str:
    """That there are no workers to keep, and whether there were any in the first run."""
    earlier = (event.fields.get("num_workers") for event in loaders_with_workers(comparison.before))
    most = max((number for number in earlier if isinstance(number, int)), default=0)
    if not most:
        return "no loader has workers"
    return f"the resumed run's loaders have none, the first run's had {most}"


def _until_the_end(window: Window, signal: str) -> list[Event]:
    """The events of one signal between the process's start and the end of the window."""
    return [event for event in window.rank.events_of(signal) if event.step < window.last]


def _most_at_one_line(starts: tuple[Event, ...]) -> int:
    """The most starts that one line led to: several loaders may each start theirs once."""
    places = Counter((event.fields.get("file"), event.fields.get("line")) for event in starts)
    return max(places.values(), default=0)
