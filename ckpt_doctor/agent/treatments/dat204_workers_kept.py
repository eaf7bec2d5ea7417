"""Loader workers live on between epochs, and a loader that is built anew is given those of the last one.

That is sound for a loader of the same data set object with the same arguments, once the last one has
handed out its last batch, was told to end its workers, or is gone. Torch itself empties the queues when
workers go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any
from weakref import ref

from ckpt_doctor.agent import loaders
from ckpt_doctor.facts.treatment import TREATED, UNTREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import loader_arguments

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "Workers keep the data set as it was when they started: what the script changes in it later does not "
    "reach them. Workers of a data set that is built anew each time cannot be kept."
)
NEEDS = ("torch.utils.data.dataloader", "torchdata.stateful_dataloader.stateful_dataloader")

START_OVER = 3
"""From so many starts on workers are not kept: the first is the loader's own, a second may be another's."""
SAME = {
    "_dataset": "dataset",
    "_dataset_kind": "_dataset_kind",
    "_auto_collation": "_auto_collation",
    "_drop_last": "drop_last",
    "_num_workers": "num_workers",
    "_collate_fn": "collate_fn",
    "_timeout": "timeout",
    "_prefetch_factor": "prefetch_factor",
    "_worker_init_fn": "worker_init_fn",
}
"""What workers were started with: attributes of the iterator, and those of a loader that fits."""
BUILT_ANEW = "the script builds its data set anew each time: the workers of the last one cannot go on with it"


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Keep the workers of the training loader."""
    arguments = loader_arguments(comparison.after.rank)
    if not arguments.get("num_workers"):
        return NotThere("the training loader has no workers")
    return PutBack(what="loader workers kept from epoch to epoch", settings=loaders.identity(arguments))


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Make workers persistent; where torch's own loaders are built anew, hand workers on."""
    told = _Told(recorder, settings)
    if module.__name__ != "torch.utils.data.dataloader":
        recorder.wrap(module.StatefulDataLoader, "__iter__", _Stateful(told).make_begin)
        return
    kept = _Kept(told)
    iterator = module._MultiProcessingDataLoaderIter
    kept.end = iterator._shutdown_workers
    recorder.wrap(iterator, "_shutdown_workers", kept.make_end)
    recorder.wrap(module._BaseDataLoaderIter, "__next__", kept.make_next)
    recorder.wrap(module.DataLoader, "__iter__", kept.make_begin)


class _Told:
    """Records that workers are kept, or that they have to be started again and again all the same."""

    def __init__(self, recorder: Recorder, wanted: Mapping[str, Any]) -> None:
        self._recorder = recorder
        self._wanted = wanted
        self._starts = 0

    def started(self, loader: Any) -> None:
        """Count a start of workers, if it is the training loader's."""
        if not loaders.is_known_by(loader, self._wanted):
            return
        self._starts += 1
        if self._starts == 1:
            self._recorder.event(TREATED, what="workers kept")
        elif self._starts == START_OVER:
            self._recorder.event(UNTREATED, why=BUILT_ANEW)


class _Stateful:
    """Loaders that keep a state: their workers live on, but are not handed over."""

    def __init__(self, told: _Told) -> None:
        self._told = told

    def make_begin(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def begin(loader: Any) -> Any:
            if loader.num_workers:
                _make_persistent(loader)
                if loader._iterator is None:
                    self._told.started(loader)
            return original(loader)

        return begin


def _make_persistent(loader: Any) -> None:
    # The attribute must not be assigned to once the loader is made.
    vars(loader)["persistent_workers"] = True


@dataclass
class _Workers:
    """Workers that were started, and the loader that uses them."""

    iterator: Any
    owner: Callable[[], Any]
    idle: bool = False

    def is_free(self) -> bool:
        """Whether no loader needs them any more."""
        return self.idle or self.owner() is None


class _Kept:
    """All workers that are alive."""

    def __init__(self, told: _Told) -> None:
        self._told = told
        self._all: dict[int, _Workers] = {}
        self.end: Callable[[Any], None]
        """Ends an iterator's workers, as torch does."""

    def make_begin(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def begin(loader: Any) -> Any:
            if not loader.num_workers:
                return original(loader)
            _make_persistent(loader)
            if loader._iterator is None:
                self._take_over(loader)
            is_new = loader._iterator is None
            iterator = original(loader)
            if is_new:
                self._told.started(loader)
            self._all[id(iterator)] = _Workers(iterator, ref(loader))
            return iterator

        return begin

    def make_next(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def next_or_done(iterator: Any) -> Any:
            try:
                return original(iterator)
            except StopIteration:
                self._let_go(iterator)
                raise

        return next_or_done

    def make_end(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def end_or_keep(iterator: Any) -> None:
            if not self._let_go(iterator):
                original(iterator)

        return end_or_keep

    def _let_go(self, iterator: Any) -> bool:
        """Note that a loader is done with its workers; False where they are none of those kept."""
        workers = self._all.get(id(iterator))
        if workers is None:
            return False
        workers.idle = True
        return True

    def _take_over(self, loader: Any) -> None:
        """Give a loader free workers that fit, and end those whose loader is gone and that do not."""
        for key, workers in list(self._all.items()):
            iterator = workers.iterator
            if not workers.is_free():
                continue
            if _fits(iterator, loader):
                owner = workers.owner()
                if owner is not None:
                    owner._iterator = None
                iterator._index_sampler = loader._index_sampler
                loader._iterator = iterator
                return
            if workers.owner() is None:
                del self._all[key]
                self.end(iterator)


def _fits(iterator: Any, loader: Any) -> bool:
    """Whether a loader would start its workers with the same objects and equal numbers."""
    for own, given in SAME.items():
        had, has = getattr(iterator, own), getattr(loader, given)
        if had is not has and not (isinstance(had, (int, float)) and had == has):
            return False
    return True
