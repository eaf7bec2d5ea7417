"""What differs between the settings and sizes of two processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ckpt_doctor.facts.comparison import FingerprintChange
from ckpt_doctor.facts.run import MEASURED, Fingerprint, RankRecord

_LOADER = "loader."
_DATA_SET = ("dataset", "dataset_len")
DEFAULT_PREFETCH = 2
"""Batches that each worker of a torch DataLoader prepares ahead, unless told otherwise."""


def compare_fingerprints(
    before: RankRecord, before_window: tuple[int, int], after: RankRecord, after_window: tuple[int, int]
) -> tuple[FingerprintChange, ...]:
    """All settings whose values differ, at the end of the windows or, failing that, at their start.

    Settings that are switched off (or on) after some steps look equal at one end, so both ends count.
    Loaders are numbered by the order of their first use; the loaders that feed the training are
    compared with each other, whatever their numbers, also where a new one was built in between.

    Args:
        before: The control's process.
        before_window: Its first step and the step after its last.
        after: The resumed process.
        after_window: Its first step and the step after its last.
    """
    number, data = training_loader(before), _data_set(before)
    first = [_start(rank, window[0]) for rank, window in ((before, before_window), (after, after_window))]
    final = [_end(rank, window[1]) for rank, window in ((before, before_window), (after, after_window))]
    numbers = (number, _counterpart(before, after))
    starts, ends = (
        [
            _renumbered(values, number, _living(values, own, data))
            for values, own in zip(map(_values, pair), numbers, strict=True)
        ]
        for pair in (first, final)
    )
    # What only one of them has at the start may just come later in the other.
    at_start = [c for c in _differences(*starts) if c.before is not None and c.after is not None]
    changes = {change.key: change for change in at_start}
    changes.update({change.key: change for change in _differences(*ends)})
    return tuple(changes[key] for key in sorted(changes))


def value_at_end(rank: RankRecord, key: str) -> object:
    """One value of the last fingerprint; None where there is none."""
    return rank.fingerprints[-1].values.get(key) if rank.fingerprints else None


def optimizer_numbers(rank: RankRecord) -> list[str]:
    """The numbers of the optimizers of the last fingerprint, in the order of their first steps."""
    keys = rank.fingerprints[-1].values if rank.fingerprints else ()
    return sorted({key.split(".")[1] for key in keys if key.startswith("optimizer.")}, key=int)


def training_loader(rank: RankRecord) -> str | None:
    """The number of the loader that feeds the steps; None where no loader was seen.

    It is the one that began an iteration last before the first step ended: a loader that
    validates before the training is done with by then.
    """
    feeding = [e.fields.get("loader") for e in rank.events_of("loader")]
    if not feeding:
        return None
    started = [e.fields.get("loader") for e in rank.events_of("first_batch") if e.step == 0]
    known = [number for number in started if number is not None]
    return str(known[-1] if known else feeding[0])


def loader_arguments(rank: RankRecord) -> Mapping[str, object]:
    """What is known of the loader that feeds the steps; empty where no loader was seen."""
    loader = training_loader(rank)
    return next((e.fields for e in rank.events_of("loader") if str(e.fields.get("loader")) == loader), {})


def prefetched_batches(rank: RankRecord) -> int:
    """Batches that the workers of the training loader can have ready before they are asked for."""
    arguments = loader_arguments(rank)
    workers, prefetch = arguments.get("num_workers"), arguments.get("prefetch_factor")
    if not isinstance(workers, int) or workers <= 0:
        return 0
    return workers * (prefetch if isinstance(prefetch, int) else DEFAULT_PREFETCH)


def _data_set(rank: RankRecord) -> list[object]:
    """Name and length of the data set that a run trains on."""
    return [loader_arguments(rank).get(name) for name in _DATA_SET]


def _counterpart(before: RankRecord, after: RankRecord) -> str | None:
    """The resumed run's loader of the data set that the control trains on, else its own first one."""
    wanted = _data_set(before)
    if any(wanted):
        for event in after.events_of("loader"):
            if [event.fields.get(name) for name in _DATA_SET] == wanted:
                return str(event.fields.get("loader"))
    return training_loader(after)


def _start(rank: RankRecord, first: int) -> Fingerprint | None:
    """The last fingerprint taken before the window begins, else the first of all."""
    earlier = [f for f in rank.fingerprints if f.step <= first]
    return earlier[-1] if earlier else (rank.fingerprints[0] if rank.fingerprints else None)


def _end(rank: RankRecord, last: int) -> Fingerprint | None:
    """The first fingerprint taken after the window ends, else the last of all."""
    later = [f for f in rank.fingerprints if f.step >= last]
    return later[0] if later else (rank.fingerprints[-1] if rank.fingerprints else None)


def _values(fingerprint: Fingerprint | None) -> Mapping[str, object]:
    return {} if fingerprint is None else fingerprint.values


def _living(values: Mapping[str, object], number: str | None, data: Sequence[object]) -> str | None:
    """A loader's number, or that of the newest loader of the same data set where it is gone by now."""
    numbers = {key.split(".")[1] for key in values if key.startswith(_LOADER)}
    if number is None or number in numbers or not any(data):
        return number
    alike = [n for n in numbers if [values.get(f"{_LOADER}{n}.{name}") for name in _DATA_SET] == data]
    return max(alike, key=lambda n: (len(n), n), default=number)


def _renumbered(values: Mapping[str, object], wanted: str | None, number: str | None) -> Mapping[str, object]:
    """The same values with a loader under the number that is wanted, and who had that under its own."""
    if wanted is None or number is None or wanted == number:
        return values
    swap = {f"{_LOADER}{number}.": f"{_LOADER}{wanted}.", f"{_LOADER}{wanted}.": f"{_LOADER}{number}."}
    renamed = {}
    for key, value in values.items():
        prefix = next((p for p in swap if key.startswith(p)), None)
        renamed[key if prefix is None else swap[prefix] + key[len(prefix) :]] = value
    return renamed


def _differences(before: Mapping[str, object], after: Mapping[str, object]) -> list[FingerprintChange]:
    if not before or not after:
        return []
    keys = sorted(before.keys() | after.keys())
    return [
        FingerprintChange(key, before.get(key), after.get(key))
        for key in keys
        if before.get(key) != after.get(key) and not key.startswith(MEASURED)
    ]
