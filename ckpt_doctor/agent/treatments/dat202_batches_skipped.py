"""The sampler is moved on where a resumed run draws batches only to drop them.

The first batch that is dropped is drawn in earnest, the last of those in its place, and is handed out again
for each of the others: the script sees as many batches as before, and none of them is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ckpt_doctor.agent import loaders
from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import loader_arguments

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "It cannot skip what is read without indices (an iterable data set, a StatefulDataLoader that replays), "
    "and does not use the random numbers that the dropped samples would have used."
)
NEEDS = ("torch.utils.data.dataloader",)

WITHOUT_INDICES = "_InfiniteConstantSampler"
"""The sampler that torch gives to iterable data sets."""


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Skip as many batches as were drawn beyond those of a fresh start."""
    if finding.share_ratio is not None:
        return NotTested("only batches that are dropped before the first step can be skipped")
    drawn = [start.batches_drawn for start in (comparison.before_start, comparison.after_start)]
    arguments = loader_arguments(comparison.after.rank)
    if drawn[0] is None or drawn[1] is None or not arguments:
        return NotTested("no loader was seen that draws the batches")
    batches = drawn[1] - drawn[0]
    if batches <= 0:
        return NotThere("no more batches were drawn before the first step than by a fresh start")
    if arguments.get("kind") == "StatefulDataLoader":
        return NotTested("the loader itself replays the batches, out of the sampler's reach")
    if arguments.get("sampler") == WITHOUT_INDICES:
        return NotTested("the data set is iterable: there are no indices to skip")
    settings = {"loader": loaders.identity(arguments), "batches": batches}
    return PutBack(what=f"{batches} dropped batches skipped in the sampler", settings=settings)


def cost_s(comparison: Comparison) -> float | None:
    """Seconds that went into batches that no step used."""
    return comparison.after_start.fast_forward_s


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Move each new iterator on, until enough has been skipped."""
    skip = _Skip(recorder, settings["batches"])
    loaders.before_each_epoch(recorder, module, settings["loader"], skip.move_on)
    recorder.wrap(module._BaseDataLoaderIter, "__next__", skip.make_next)


class _Skip:
    """Batches that are still to be skipped."""

    def __init__(self, recorder: Recorder, batches: int) -> None:
        self._recorder = recorder
        self._left = batches
        self._again: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        """How often an iterator's next batch is handed out again."""
        self._batch: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def make_next(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def next_or_again(iterator: Any) -> Any:
            left = self._again.get(iterator)
            if left is None:
                return original(iterator)
            if iterator not in self._batch:
                self._batch[iterator] = original(iterator)
            batch = self._batch[iterator]
            if left:
                self._again[iterator] = left - 1
            else:
                del self._again[iterator], self._batch[iterator]
            return batch

        return next_or_again

    def move_on(self, iterator: Any) -> None:
        """Take what is still to be skipped off an iterator's sampler."""
        skipped = list(itertools.islice(iterator._sampler_iter, self._left))
        if not skipped:
            return
        self._left -= len(skipped)
        iterator._sampler_iter = itertools.chain(skipped[-1:], iterator._sampler_iter)
        self._again[iterator] = len(skipped) - 1
        self._recorder.event(TREATED, what=f"{len(skipped)} batches skipped")
