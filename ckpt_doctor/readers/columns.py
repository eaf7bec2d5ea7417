"""Columns of tables, groups of a pattern and tags of TensorBoard: which field of a step each of them holds.

People and frameworks call the same thing ``step_time``, ``iter_time (ms)`` or ``perf/step_s``. A name is
compared in small letters, with everything but letters and digits as one underscore.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.run import PARTS


class Field(NamedTuple):
    """What a value means."""

    name: str
    """``step``, ``time_s``, ``step_s``, ``steps_per_s``, ``samples``, ``elements`` or ``<part>_s``."""
    factor: float = 1.0
    """Makes SI units of the value."""


TOLD_PARTS = tuple(part for part in PARTS if part not in ("gc", "rest"))
FIELDS: Mapping[str, Field] = {
    "step": Field("step"),
    "time": Field("time_s"),
    "step_s": Field("step_s"),
    "step_ms": Field("step_s", 1e-3),
    "steps_per_s": Field("steps_per_s"),
    "samples": Field("samples"),
    "elements": Field("elements"),
    **{f"{part}_s": Field(f"{part}_s") for part in TOLD_PARTS},
    **{f"{part}_ms": Field(f"{part}_s", 1e-3) for part in TOLD_PARTS},
}
"""The fields as people name them, in ``--column`` and in the groups of ``--log-pattern``."""

_NAMES: Mapping[str, str] = {
    "step": "step steps global_step train_step current_steps iteration iterations iter it n_iter update "
    "num_updates",
    "time": "time timestamp wall_time walltime wall_clock elapsed elapsed_s elapsed_time time_elapsed "
    "runtime datetime date_time created_at",
    "step_s": "sec_per_step seconds_per_step sec_per_iter s_it s_iter s_step time_step",
    "step_ms": "ms_per_step ms_per_iter ms_it ms_iter ms_step",
    "samples": "batch_size samples_per_step",
    "elements": "tokens_per_step elements_per_step num_tokens_per_step",
}
"""What the fields are called in the wild."""
_DURATIONS: Mapping[str, str] = {
    "step": "step_time step_duration iter_time iteration_time batch_time time_per_step time_per_iter "
    "time_per_iteration time_per_batch",
    "data_wait": "data_wait data_time data_load_time data_loading_time dataloader_time dataload_time "
    "loader_time time_data fetch_time",
    "forward": "forward_time fwd_time",
    "backward": "backward_time bwd_time",
    "optimizer": "optimizer_time optimizer_step_time optim_time opt_time",
    "compile": "compile_time",
    "saving": "save_time saving_time checkpoint_time",
}
"""Names of durations, to which a unit may be added; without one they are seconds."""
_BARE: Mapping[str, str] = {
    "data_wait": "data data_loading",
    "forward": "fwd",
    "backward": "bwd",
    "optimizer": "optim",
    "saving": "save checkpoint",
}
"""Names that are durations only where a unit follows."""
_UNITS = {"_s": "_s", "_sec": "_s", "_seconds": "_s", "_ms": "_ms", "_msec": "_ms"}
_ALIASES: Mapping[str, str] = {
    **{
        f"{name}{unit}": f"{field}{suffix}"
        for table, units in ((_DURATIONS, {"": "_s", **_UNITS}), (_BARE, _UNITS))
        for field, names in table.items()
        for name in names.split()
        for unit, suffix in units.items()
    },
    **{name: field for field, names in _NAMES.items() for name in names.split()},
    # A column of samples or tokens usually counts them from the start.
    **{name: name for name in FIELDS if name not in ("samples", "elements")},
}
_PREFIXES = ("train_", "trainer_", "perf_", "performance_", "time_", "timing_", "time_metrics_", "parts_")
_PER_SECOND = r"((_per)?_s(ec(ond)?s?)?|_ps)"
_STEP_RATE = re.compile(rf"(.*_)?(steps|its?|iters?|iterations|batches|updates){_PER_SECOND}(_.*)?")
_WORK_RATE = re.compile(
    rf"(.*_)?((samples|tokens|tok|examples|sequences|images|imgs|words|frames|items){_PER_SECOND}"
    r"|throughput|tps|wps)(_.*)?"
)
_ELSEWHERE = re.compile(r"(val|valid|validation|eval|evaluation|test|predict|inference)(_.*)?")
"""What is measured while no training goes on."""

_CLOCK = re.compile(
    r"(?:(?P<days>\d{1,6}) days?, )?(?:(?P<h>\d{1,6}):)?(?P<m>\d{1,2}):(?P<s>\d{1,2}(?:[.,]\d{1,9})?)"
)
_DATE = re.compile(
    r"(?P<date>\d{4}[-/]\d{1,2}[-/]\d{1,2})[T _](?P<clock>\d{1,2}:\d{2}:\d{2})(?P<part>[.,]\d{1,9})?"
    r" ?(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?"
)


_DAY_S, _EVENING_S, _MORNING_S = 86400.0, 82800.0, 3600.0
"""A time of the day that falls from the last hour into the first has passed midnight."""


def normalised(name: str) -> str:
    """A column's name as it is compared."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def field_named(name: str) -> Field:
    """A field by the name that people give it.

    Raises:
        UsageError: There is none.
    """
    if name not in FIELDS:
        raise UsageError(f"{name} is no field of a step", hint=f"The fields are {', '.join(FIELDS)}.")
    return FIELDS[name]


def field_of(name: str) -> Field | None:
    """The field that a column of this name holds; None where the name says nothing."""
    key = normalised(name)
    for prefix in ("", *_PREFIXES):
        found = _ALIASES.get(key.removeprefix(prefix)) if key.startswith(prefix) else None
        if found is not None:
            return FIELDS[found]
    return FIELDS["steps_per_s"] if is_step_rate(name) else None


def is_step_rate(name: str) -> bool:
    """Whether a column tells the framework's own count of training steps per second."""
    key = normalised(name)
    return _STEP_RATE.fullmatch(key) is not None and not is_elsewhere(name)


def is_rate(name: str) -> bool:
    """Whether a column tells the framework's own throughput, in whatever unit."""
    key = normalised(name)
    return not is_elsewhere(name) and (is_step_rate(name) or _WORK_RATE.fullmatch(key) is not None)


def is_elsewhere(name: str) -> bool:
    """Whether a column is about validation or the like."""
    return _ELSEWHERE.fullmatch(normalised(name)) is not None


def number(text: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(text, bool) or not isinstance(text, (int, float, str)):
        return None
    try:
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return value if abs(value) < 1e18 else None


def clock_s(value: object) -> float | None:
    """Seconds of a clock: a number, ``h:mm:ss``, or a date and time (UTC where it names no zone)."""
    found = number(value)
    if found is not None or not isinstance(value, str):
        return found
    text = value.strip()
    match = _CLOCK.fullmatch(text)
    if match is not None:
        hours = int(match["days"] or 0) * 24 + int(match["h"] or 0)
        return hours * 3600.0 + int(match["m"]) * 60.0 + float(match["s"].replace(",", "."))
    match = _DATE.fullmatch(text)
    return None if match is None else _unix_s(match)


def _unix_s(match: re.Match[str]) -> float | None:
    zone = (match["zone"] or "").replace(":", "")
    offset = timedelta()
    if zone[:1] in ("+", "-"):
        offset = timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[3:]))
    try:
        moment = datetime.strptime(
            f"{match['date'].replace('/', '-')} {match['clock']}", "%Y-%m-%d %H:%M:%S"
        ).replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    return (moment - offset).timestamp() + float((match["part"] or ".0").replace(",", "."))


class Clock:
    """Reads a column of times; those of the day go on behind midnight."""

    def __init__(self) -> None:
        self._last_s = 0.0
        self._days = 0

    def read(self, value: object) -> float | None:
        """Seconds of one value; None where it is no time."""
        seconds = clock_s(value)
        if seconds is None:
            return None
        if isinstance(value, str) and _CLOCK.fullmatch(value.strip()) is not None:
            if self._last_s >= _EVENING_S and seconds < _MORNING_S:
                self._days += 1
            self._last_s = seconds
        return seconds + self._days * _DAY_S
