"""Saves and loads the state of a run, and counts where the run is in its data."""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch.optim import Optimizer

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.resume.captured import at, capture, own_part, restore
from ckpt_doctor.resume.feeds import Feed, feed_of
from ckpt_doctor.resume.optimizer import empty_state
from ckpt_doctor.resume.ranks import gather, own_rank, world_size
from ckpt_doctor.resume.report import RankReport, ResumeReport
from ckpt_doctor.resume.rng import rng_state, set_rng_state
from ckpt_doctor.resume.sharded import METADATA, holds_shards, read_sharded, write_sharded
from ckpt_doctor.resume.state import ResumableState
from ckpt_doctor.resume.store import Store, check_whole
from ckpt_doctor.resume.whole import read_whole, write_whole

_log = logging.getLogger("ckpt_doctor.resume")


class ResumeManager:
    """Saves a run so that it goes on after a kill as if nothing had happened, and brings it back.

    ::

        manager = ResumeManager(ResumableState(model=model, optimizer=optimizer, loader=loader), "run")
        manager.load()
        for epoch in manager.epochs(10):
            for batch in manager.batches():
                ...
                manager.state.step += 1
                if manager.state.step % 100 == 0:
                    manager.save()

    Save when a step is done with its batch; and after the batches of an epoch only as the last
    thing that the epoch does, for what comes before the save is not done again. With several
    ranks, all of them have to call each method.

    ``state_dict`` and ``load_state_dict`` make it what torch calls Stateful: it can be given to
    torch.distributed.checkpoint, or to ``accelerator.register_for_checkpointing``.

    Args:
        state: What the run is made of.
        folder: Where checkpoints go; None where something else saves what ``capture`` gives.
        keep: How many checkpoints are kept, the newest; None keeps all.

    Raises:
        UsageError: The loader's place in its data cannot be kept, or ``keep`` is less than 1.
    """

    def __init__(
        self, state: ResumableState, folder: str | os.PathLike[str] | None = None, *, keep: int | None = 3
    ) -> None:
        if keep is not None and keep < 1:
            raise UsageError(f"keep={keep} would delete each checkpoint at once", hint="keep at least 1")
        self.state = state
        self._folder = None if folder is None else Path(folder)
        self._keep = keep
        self._feed: Feed | None = None if state.loader is None else feed_of(state.loader)
        self._generators: dict[str, Any] | None = None
        """Those to put back once more as soon as the loader has begun; None when that is done."""
        self._workers_began = False
        """Whether workers that live longer than an epoch had begun before the save, and here have not yet."""

    def capture(self) -> dict[str, Any]:
        """A copy of the whole state: tensors on the CPU, numbers, text, and containers of them.

        Raises:
            UsageError: A part holds what could not be loaded with ``weights_only=True``.
        """
        return capture(self.state, self._feed, compile_cache=self.state.compile_cache)

    def restore(self, captured: Mapping[str, Any]) -> ResumeReport:
        """Put back what ``capture`` gave. If something did not come back, the report is logged.

        Raises:
            CheckpointError: It was not made by ``capture``, or the model, the optimizer or the data
                are not those that it was taken of.
        """
        return self._restored(captured, None, ())

    def state_dict(self) -> dict[str, Any]:
        """What ``capture`` gives, less the compile cache, in a form that can be loaded into.

        torch.distributed.checkpoint loads what is in the dict that it is given, and no more. So an
        optimizer that has not stepped yet shows the entries that it would make; it is left as it is.
        """
        captured = capture(self.state, self._feed, compile_cache=False)
        for place, part in self.state.objects():
            if isinstance(part, Optimizer) and not part.state:
                at(captured, place)["state"] = empty_state(part)
        return captured

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """``restore``, by the name that torch looks for."""
        self.restore(state_dict)

    def save(self) -> Path:
        """Save a checkpoint: it is there as a whole or not at all, whenever the process is killed.

        Returns:
            Its folder.

        Raises:
            UsageError: There is no folder to save to, or a part cannot be saved.
            OSError: The disk is full, or refuses. Older checkpoints are as they were.
        """
        store = self._store()
        captured = self.capture()
        write = write_sharded if world_size() > 1 or holds_shards(captured) else write_whole
        return store.save(self.state.step, lambda folder: write(captured, folder))

    def load(self, checkpoint: str | os.PathLike[str] | None = None) -> ResumeReport | None:
        """Go on from the newest checkpoint that is whole, or from a given one.

        Args:
            checkpoint: A folder that ``save`` made, or the file in it; None for the newest that is whole.

        Returns:
            What was put back; None where there is no checkpoint yet, and the run begins.

        Raises:
            CheckpointError: The one that was asked for is damaged, or all are; or it does not fit.
        """
        if checkpoint is not None:
            path = Path(checkpoint)
            path = path.parent if path.is_file() else path
            check_whole(path)
            return self._restored(self._read(path), path, ())
        store = self._store()
        newest, passed_over = store.newest_whole()
        if newest is None:
            if passed_over:
                name, why = passed_over[0]
                raise CheckpointError(
                    f"no checkpoint in {store.folder} is whole; of the newest, {name}: {why}",
                    hint="move them away to begin anew",
                )
            return None
        return self._restored(self._read(newest), newest, tuple(passed_over))

    def epochs(self, count: int) -> Iterator[int]:
        """The epochs that are still to be done, beginning with the one that is under way.

        Args:
            count: Epochs of the whole run.
        """
        while self.state.epoch < count:
            epoch = self.state.epoch
            yield epoch
            if self.state.epoch == epoch:  # The loop left the epoch early, or did not ask for batches.
                self.end_epoch()

    def batches(self) -> Iterator[Any]:
        """The batches of the present epoch that are still to be done; after the last the next epoch begins.

        A batch counts as done from the moment it is given out: a save in the loop's body comes after it.

        Raises:
            UsageError: The state has no loader.
        """
        feed = self._feed
        if feed is None:
            raise UsageError("the state has no loader", hint="ResumableState(loader=...)")
        feed.begin(self.state.epoch)
        if feed.is_exhausted:
            self.loader_began()
        else:
            if self._workers_began:
                self._generators, self._workers_began = self._generators or rng_state(), False
            iterator = iter(self.state.loader)
            if not inspect.isgenerator(iterator):
                # A DataLoader has drawn the seed of its workers by now; others do so at the first batch.
                self.loader_began()
            for batch in iterator:
                self.loader_began()
                self.count_batch()
                yield batch
        self.end_epoch()

    def count_batch(self) -> None:
        """One more batch has reached the loop: for loops that do not ask ``batches`` for it."""
        if self._feed is not None:
            self._feed.count()

    def end_epoch(self) -> None:
        """The next epoch begins: for loops that do not ask ``batches``."""
        self.state.epoch += 1
        if self._feed is not None:
            self._feed.begin(self.state.epoch)

    def loader_began(self) -> None:
        """Put the generators back once more, if need be: for loops that do not ask ``batches``.

        Beginning to iterate a loader draws random numbers (its workers' seed). The run that went on
        had done so when the epoch began, before the save.
        """
        if self._generators is not None:
            set_rng_state(self._generators)
            self._generators = None

    def _restored(
        self, captured: Mapping[str, Any], path: Path | None, passed_over: tuple[tuple[str, str], ...]
    ) -> ResumeReport:
        parts = restore(self.state, self._feed, captured)
        if self._feed is not None:
            self._feed.begin(self.state.epoch)
        under_way = self._feed is not None and self._feed.is_under_way
        self._generators = own_part(captured) if under_way and self.state.rng else None
        has_begun = under_way or self.state.epoch > 0
        self._workers_began = has_begun and _keeps_workers(self.state.loader)
        report = ResumeReport(
            step=self.state.step,
            epoch=self.state.epoch,
            ranks=tuple(gather(RankReport(own_rank(), parts))),
            checkpoint=None if path is None else str(path),
            passed_over=passed_over,
        )
        if own_rank() == 0 and (passed_over or not report.complete):
            _log.warning("\n".join(report.lines()))
        return report

    def _store(self) -> Store:
        if self._folder is None:
            raise UsageError("this ResumeManager has no folder", hint="ResumeManager(state, folder)")
        return Store(self._folder, self._keep)

    def _read(self, path: Path) -> dict[str, Any]:
        if (path / METADATA).exists():
            return read_sharded(path, dict(self.state.objects()))
        return read_whole(path)


def _keeps_workers(loader: Any) -> bool:
    return bool(getattr(loader, "persistent_workers", False) and getattr(loader, "num_workers", 0))
