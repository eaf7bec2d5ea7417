"""Where a loader's next batch comes from, and how that place is kept: two kinds of loaders can tell.

A loader fetches ahead of the training loop, so neither its sampler nor its workers know how far the
loop is. The loop's own count of batches does, and is all that a ``ResumableSampler`` needs.
torchdata's StatefulDataLoader counts what it hands out itself.
"""

from __future__ import annotations

from typing import Any, Protocol

from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.resume.dataset import SeededDataset
from ckpt_doctor.resume.parts import HasState
from ckpt_doctor.resume.samplers.base import ResumableSampler

_HINT = (
    "give it one of the samplers of ckpt_doctor.resume, or use torchdata's StatefulDataLoader, or leave it "
    "out of the state"
)


class Feed(Protocol):
    """The place of a training loop in its data."""

    @property
    def kinds(self) -> tuple[StateKind, ...]:
        """States that it keeps."""

    @property
    def same_for_all(self) -> bool:
        """Whether the place of one rank is that of all."""

    def begin(self, epoch: int) -> None:
        """Get ready for an epoch; one that is under way goes on."""

    def count(self) -> None:
        """One more batch has reached the loop."""

    @property
    def is_under_way(self) -> bool:
        """Whether the present epoch has given batches to the loop."""

    @property
    def is_exhausted(self) -> bool:
        """Whether the present epoch has none left, as far as that can be told without asking for one."""

    def state_dict(self) -> dict[str, Any]:
        """The place, as plain values."""

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go to a place."""

    def notes(self) -> tuple[str, ...]:
        """What of the data is not as it would have been, one sentence each."""


def feed_of(loader: Any) -> Feed:
    """The feed of a loader.

    Raises:
        UsageError: Its place cannot be kept.
    """
    if getattr(loader, "in_order", True) is False:
        raise UsageError(
            "the loader has in_order=False: which batches reached the loop cannot be told",
            hint="leave in_order at True",
        )
    sampler = _sampler_of(loader)
    if sampler is not None:
        return SamplerFeed(loader, sampler)
    if isinstance(loader, HasState):
        return StatefulFeed(loader)
    kind = type(getattr(loader, "sampler", loader)).__name__
    raise UsageError(f"the loader's place in its data cannot be kept: it draws from a {kind}", hint=_HINT)


class SamplerFeed:
    """A DataLoader over a ``ResumableSampler``, also one that accelerate has prepared."""

    kinds = (StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG, StateKind.DATALOADER_POSITION)
    same_for_all = True

    def __init__(self, loader: Any, sampler: ResumableSampler) -> None:
        self.sampler = sampler
        self._loader = loader
        self._batch_size = _batch_size(loader)

    def begin(self, epoch: int) -> None:
        """Tell the epoch to everything that goes by it."""
        self.sampler.set_epoch(epoch)
        _tell_epoch(self._loader, epoch)

    def count(self) -> None:
        """One more batch, of which the last may be smaller."""
        self.sampler.advance(self._batch_size)

    @property
    def is_under_way(self) -> bool:
        """Whether samples of this epoch were drawn."""
        return self.sampler.samples_done > 0

    @property
    def is_exhausted(self) -> bool:
        """Whether what is left makes no batch."""
        return self.sampler.remaining < (self._batch_size if _drops_last(self._loader) else 1)

    def state_dict(self) -> dict[str, Any]:
        """The sampler's."""
        return self.sampler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The sampler goes to the place."""
        self.sampler.load_state_dict(state_dict)

    def notes(self) -> tuple[str, ...]:
        """What workers draw."""
        return _worker_notes(self._loader, self.is_under_way)


class StatefulFeed:
    """A loader with a state of its own."""

    kinds = (StateKind.SAMPLER_EPOCH, StateKind.DATALOADER_POSITION)
    same_for_all = False

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._epoch = 0
        self._batches_done = 0

    def begin(self, epoch: int) -> None:
        """Tell the epoch to everything that goes by it."""
        if epoch != self._epoch:
            self._epoch, self._batches_done = epoch, 0
        _tell_epoch(self._loader, epoch)

    def count(self) -> None:
        """One more batch; the loader has counted it too."""
        self._batches_done += 1

    @property
    def is_under_way(self) -> bool:
        """Whether batches of this epoch were handed out."""
        return self._batches_done > 0

    @property
    def is_exhausted(self) -> bool:
        """The loader does not tell."""
        return False

    def state_dict(self) -> dict[str, Any]:
        """The loader's, with the count of batches."""
        return {
            "loader": self._loader.state_dict(),
            "batches_done": self._batches_done,
            "sampler_epoch": self._epoch,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """The loader goes to the place when it is iterated next."""
        self._loader.load_state_dict(state_dict["loader"])
        self._batches_done = state_dict["batches_done"]
        self._epoch = state_dict["sampler_epoch"]

    def notes(self) -> tuple[str, ...]:
        """What workers draw."""
        return _worker_notes(self._loader, self.is_under_way)


def _sampler_of(loader: Any) -> ResumableSampler | None:
    """The sampler at the bottom of a loader; accelerate puts batch samplers around the loader's own."""
    holder = loader
    while holder is not None:
        sampler = getattr(holder, "sampler", None)
        if isinstance(sampler, ResumableSampler):
            return sampler
        holder = getattr(holder, "batch_sampler", None)
    return None


def _batch_size(loader: Any) -> int:
    """Samples that this rank's sampler draws for one batch of the loop.

    Where accelerate deals the batches of one sampler to several processes, a batch for this one is
    a batch for each of them (``total_batch_size``).
    """
    if getattr(loader, "batch_sampler", None) is None:
        return 1
    size = getattr(loader, "total_batch_size", None) or getattr(loader.batch_sampler, "batch_size", None)
    if not isinstance(size, int):
        raise UsageError(
            f"the loader's {type(loader.batch_sampler).__name__} has no batch_size: how many samples a batch "
            "takes cannot be told",
            hint="use DataLoader(batch_size=..., sampler=...)",
        )
    return size


def _drops_last(loader: Any) -> bool:
    return bool(getattr(getattr(loader, "batch_sampler", None), "drop_last", False))


def _worker_notes(loader: Any, under_way: bool) -> tuple[str, ...]:
    """Generators of workers go on from sample to sample: nothing brings back where they were."""
    goes_on = under_way or getattr(loader, "persistent_workers", False)
    if not goes_on or not getattr(loader, "num_workers", 0) or isinstance(loader.dataset, SeededDataset):
        return ()
    return ("what workers draw at random is not what they would have drawn (SeededDataset keeps it)",)


def _tell_epoch(loader: Any, epoch: int) -> None:
    """By custom ``set_epoch``: samplers, data sets and accelerate's loaders have it."""
    for part in (getattr(loader, "dataset", None), getattr(loader, "sampler", None), loader):
        set_epoch = getattr(part, "set_epoch", None)
        if set_epoch is not None:
            set_epoch(epoch)
