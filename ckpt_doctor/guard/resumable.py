"""Whether a run that is resumed goes on as if it had never stopped: same losses, same samples, bit by bit.

The run is done once without a stop, and saved on its way. Then it is resumed from each of these
checkpoints: made anew, loaded, and continued to its end. Before that every global generator of random
numbers is put into another state, so that a state which was not saved is missed, as in a new process. It is
the same process all the same: what lives in globals of the project's modules is not made anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any, Generic, TypeVar

from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.guard.failure import Failure
from ckpt_doctor.guard.suspects import Clues, explained

STEPS = 24
"""So many steps are taken at most: two epochs of a training set made for tests."""
SHOWN = 6
"""So many samples of a step are told."""

Run = TypeVar("Run", bound=Iterable[object])
_Generators = Mapping[StateKind, object]
"""The state of each global generator of random numbers, as plain values."""


def resumable(
    make_run: Callable[[], Run],
    save: Callable[[Run, Path], object],
    load: Callable[[Run, Path], object],
    *,
    folder: Path,
    steps: int = STEPS,
    save_at: Collection[int] | None = None,
) -> Failure | None:
    """Resume a run wherever it can be interrupted, and compare it with the run that was not.

    Args:
        make_run: Makes the run as a new process would. To iterate over it is to train: after each optimizer
            step it yields the loss (a number, or a tensor of one element), or the loss and what tells the
            samples of the step (their indices).
        save: Saves the run to a path, as a file or a folder. It is called while the run waits after a step.
        load: Makes a new run go on from there. It is called before the first step.
        folder: An empty folder for the checkpoints.
        steps: Steps of the run that is not interrupted; fewer where it ends by itself.
        save_at: Steps after which the run is interrupted, from 1; None for each of them.

    Returns:
        The first interruption after which the run is another one, and why; or None.

    Raises:
        UsageError: The run is too short, or yields something else. Whatever the three functions raise
            before the run is resumed.
    """
    __tracebackhide__ = True  # An error of the project is shown without these frames.
    from ckpt_doctor.resume.rng import rng_state, set_rng_state

    if steps < 2:
        raise UsageError(f"steps={steps}: no step is left to be resumed", hint="give at least 2")
    before = rng_state()
    try:
        return _Experiment(make_run, save, load, folder, steps, save_at).judge()
    finally:
        set_rng_state(before)


@dataclass(frozen=True)
class _Step:
    loss: float
    samples: tuple[object, ...] | None


@dataclass(frozen=True)
class _Saved:
    path: Path
    generators: _Generators


@dataclass(frozen=True)
class _Whole:
    """The run that was not interrupted."""

    steps: Sequence[_Step]
    saves: Mapping[int, _Saved]
    """By the number of steps done."""
    drawn: frozenset[StateKind]
    """Generators that the run draws from."""
    ended: bool
    """Whether it came to its own end."""


@dataclass(frozen=True)
class _Resumed:
    at: int
    """Steps done before the interruption."""
    steps: Sequence[_Step]
    loaded: _Generators | None
    """None where loading failed."""
    error: Exception | None


@dataclass(frozen=True)
class _Experiment(Generic[Run]):
    make_run: Callable[[], Run]
    save: Callable[[Run, Path], object]
    load: Callable[[Run, Path], object]
    folder: Path
    most_steps: int
    save_at: Collection[int] | None

    def judge(self) -> Failure | None:
        __tracebackhide__ = True
        whole = self._without_a_stop("uninterrupted")
        self._check(whole)
        for at in whole.saves:
            resumed = self._resume(at, whole)
            difference = _difference(whole, resumed)
            if difference is None:
                continue
            return self._unsteady(whole) or Failure(
                difference,
                (
                    *explained(whole.saves[at].path, _clues(whole, resumed)),
                    f"Checkpoint: {whole.saves[at].path}",
                ),
            )
        return None

    def _without_a_stop(self, name: str) -> _Whole:
        __tracebackhide__ = True
        (self.folder / name).mkdir(parents=True)
        _as_in_a_new_process(0)
        run = self.make_run()
        generators, drawn = _generators(), frozenset[StateKind]()
        steps: list[_Step] = []
        saves: dict[int, _Saved] = {}
        for number, value in enumerate(_trained(run), start=1):
            steps.append(_step(value))
            if number == self.most_steps:
                return _Whole(steps, saves, drawn, ended=False)
            if self.save_at is None or number in self.save_at:
                path = self.folder / name / f"step-{number}"
                self.save(run, path)
                earlier, generators = generators, _generators()
                drawn |= _unequal(earlier, generators)
                saves[number] = _Saved(path, generators)
        return _Whole(steps, saves, drawn, ended=True)

    def _resume(self, at: int, whole: _Whole) -> _Resumed:
        _as_in_a_new_process(at)
        run = self.make_run()
        steps: list[_Step] = []
        loaded: _Generators | None = None
        # One step too many is enough to see that the run does not end where it should.
        enough = len(whole.steps) - at + whole.ended
        try:
            self.load(run, whole.saves[at].path)
            loaded = _generators()
            for value in _trained(run):
                steps.append(_step(value))
                if len(steps) == enough:
                    break
        except Exception as error:  # noqa: BLE001 - whatever it is: the run that was not interrupted went on
            return _Resumed(at, steps, loaded, error)
        return _Resumed(at, steps, loaded, None)

    def _check(self, whole: _Whole) -> None:
        done = len(whole.steps)
        if done < 2:
            raise UsageError(
                f"the run ended by itself after step {done}: none is left to be resumed",
                hint="make_run() has to give a run that trains for several steps, each time it is called",
            )
        if not whole.saves or not set(self.save_at or ()) <= set(whole.saves):
            last = done if whole.ended else done - 1
            raise UsageError(
                f"save_at={sorted(self.save_at or ())}: the run is not interrupted there",
                hint=f"it can be after steps 1 to {last}, as many as you like",
            )

    def _unsteady(self, whole: _Whole) -> Failure | None:
        """Why nothing can be said of a resume: the run does not even repeat itself."""
        again = self._without_a_stop("once-more")
        found = _first_difference(whole.steps, again.steps, first=1)
        if found is None:
            return None
        number, what = found
        return Failure(
            f"The run does not repeat itself, even without an interruption: at step {number} {what}.",
            (
                "  Fix: seed every generator in make_run(), keep the run's state out of globals, and see "
                "torch.use_deterministic_algorithms()",
            ),
        )


def _trained(run: Iterable[object]) -> Iterator[object]:
    """The steps of a run."""
    try:
        return iter(run)
    except TypeError as error:
        raise UsageError(
            f"make_run() gives a {type(run).__name__}, and one cannot iterate over it",
            hint="a run yields the loss, or (loss, samples), after each optimizer step",
        ) from error


def _step(value: object) -> _Step:
    loss, samples = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    return _Step(_number(loss), None if samples is None else _samples(samples))


def _number(loss: Any) -> float:
    try:
        return float(loss.detach() if hasattr(loss, "detach") else loss)
    except (TypeError, ValueError, RuntimeError) as error:
        raise UsageError(
            f"a run yields {type(loss).__name__} as its loss, which is not one number",
            hint="a run yields the loss, or (loss, samples), after each optimizer step",
        ) from error


def _samples(samples: Any) -> tuple[object, ...]:
    plain = _plain(samples)
    return tuple(map(_plain, plain)) if isinstance(plain, Iterable) else (plain,)


def _plain(value: Any) -> Any:
    """A value without tensors and arrays, which cannot simply be compared."""
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _as_in_a_new_process(number: int) -> None:
    """Put every global generator into a state of its own: a process has none of another's."""
    import torch

    from ckpt_doctor.resume.rng import seeded

    with seeded(number, put_back=False):
        torch.cuda.manual_seed_all(number)


def _generators() -> _Generators:
    from ckpt_doctor.resume.rng import rng_state

    return {StateKind(name): _plain(state) for name, state in rng_state().items()}


def _unequal(one: _Generators, other: _Generators) -> frozenset[StateKind]:
    return frozenset(kind for kind in {*one, *other} if one.get(kind) != other.get(kind))


def _difference(whole: _Whole, resumed: _Resumed) -> str | None:
    """What is other than it was without an interruption, as one sentence; None where nothing is."""
    at = resumed.at
    found = _first_difference(whole.steps[at:], resumed.steps, first=at + 1)
    if found is not None:
        number, what = found
        return f"Resumed after step {at}, the run goes another way at step {number}: {what}."
    if resumed.loaded is None:
        return f"The run cannot be resumed after step {at}: load() raised {_raised(resumed.error)}."
    end = at + len(resumed.steps)
    if resumed.error is not None:
        return f"Resumed after step {at}, the run breaks off at step {end + 1}: {_raised(resumed.error)}."
    if end < len(whole.steps):
        return f"Resumed after step {at}, the run ends after step {end}; without the stop it went on."
    if end > len(whole.steps):
        return f"Resumed after step {at}, the run goes on after step {end - 1}; without the stop it ended."
    return None


def _first_difference(
    expected: Sequence[_Step], found: Sequence[_Step], *, first: int
) -> tuple[int, str] | None:
    """The first step that is not the same in both, and what of it."""
    for number, (one, other) in enumerate(zip(expected, found, strict=False), start=first):
        what = _other(one, other)
        if what is not None:
            return number, what
    return None


def _other(expected: _Step, found: _Step) -> str | None:
    words = []
    same_samples = found.samples == expected.samples
    if found.loss.hex() != expected.loss.hex():
        words.append(f"its loss is {found.loss!r} instead of {expected.loss!r}")
    if not same_samples:
        words.append(f"its samples are {_told(found.samples, expected.samples)}")
    elif words and found.samples is not None:
        words.append("its samples are the same")
    return ", ".join(words) or None


def _told(found: tuple[object, ...] | None, expected: tuple[object, ...] | None) -> str:
    if found is None or expected is None:
        return "told only once"
    pairs = enumerate(zip(found, expected, strict=False))
    first = next((at for at, (one, other) in pairs if one != other), min(len(found), len(expected)))
    return f"{_listed(found, first)} instead of {_listed(expected, first)}"


def _listed(samples: tuple[object, ...], first: int) -> str:
    """A few samples, from the first on that is another."""
    shown = [str(sample) for sample in samples[first : first + SHOWN]]
    before = ["..."] if first else []
    after = ["..."] if first + SHOWN < len(samples) else []
    return ", ".join((*before, *shown, *after)) or "none"


def _raised(error: Exception | None) -> str:
    """An exception in one line, with the line of the project that it came through."""
    assert error is not None
    said = str(error).partition("\n")[0]
    frames = extract_tb(error.__traceback__)[1:]
    place = f" ({os.path.basename(frames[0].filename)}:{frames[0].lineno})" if frames else ""
    return f"{type(error).__name__}{': ' if said else ''}{said}{place}"


def _clues(whole: _Whole, resumed: _Resumed) -> Clues:
    saved = whole.saves[resumed.at].generators
    other = whole.drawn if resumed.loaded is None else _unequal(saved, resumed.loaded)
    pairs = list(zip(whole.steps[resumed.at :], resumed.steps, strict=False))
    told = pairs and all(one.samples is not None for pair in pairs for one in pair)
    return Clues(
        other_generators=whole.drawn & other,
        same_samples=all(one.samples == two.samples for one, two in pairs) if told else None,
    )
