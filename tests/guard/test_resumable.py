"""Runs that go on after an interruption, and runs that do not."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from ckpt_doctor.errors import UsageError
from ckpt_doctor.guard.resumable import resumable
from tests.structure.source import ROOT

COMPLETE = ROOT / "fixtures" / "checkpoints" / "complete.pt"
STEPS = 5


class Walk:
    """Five steps whose losses are drawn from Python's global generator."""

    def __init__(self) -> None:
        random.seed(3)
        self.step = 0

    def __iter__(self) -> Iterator[Any]:
        while self.step < STEPS:
            self.step += 1
            yield random.random(), [self.step]

    def save(self, path: Path) -> None:
        """Save all of it."""
        torch.save({"step": self.step, "python_rng": random.getstate()}, path)

    def load(self, path: Path) -> None:
        """Go on from there."""
        saved = torch.load(path, weights_only=True)
        self.step = saved["step"]
        random.setstate(saved["python_rng"])


class Count:
    """Five steps, or as many more as it is told, whose losses are the step."""

    def __init__(self, more: int = 0) -> None:
        self.step = 0
        self.more = more

    def __iter__(self) -> Iterator[Any]:
        while self.step < STEPS + self.more:
            self.step += 1
            yield float(self.step)

    def save(self, path: Path) -> None:
        """Save all of it."""
        torch.save({"step": self.step}, path)

    def load(self, path: Path) -> None:
        """Go on from there."""
        self.step = torch.load(path)["step"]


def lines(failure: Any) -> list[str]:
    """The text of a failure."""
    assert failure is not None
    return str(failure).splitlines()


def test_a_run_that_goes_on(tmp_path: Path) -> None:
    """A run that gets back all of its state passes, interrupted after each of its steps."""
    loaded = []

    def load(run: Walk, path: Path) -> None:
        loaded.append(path.name)
        run.load(path)

    assert resumable(Walk, Walk.save, load, folder=tmp_path) is None
    assert loaded == [f"step-{number}" for number in range(1, STEPS + 1)]


def test_it_is_interrupted_where_asked(tmp_path: Path) -> None:
    """Steps can be chosen, and the run cut short."""
    loaded = []

    def load(run: Walk, path: Path) -> None:
        loaded.append(path.name)
        run.load(path)

    assert resumable(Walk, Walk.save, load, folder=tmp_path, steps=4, save_at=[3, 1]) is None
    assert loaded == ["step-1", "step-3"]


def test_a_generator_that_was_not_saved(tmp_path: Path) -> None:
    """The failure names the step, both losses, the generator with its cost and remedy, and no other."""

    def save(run: Walk, path: Path) -> None:
        torch.save({"step": run.step}, path)

    def load(run: Walk, path: Path) -> None:
        run.step = torch.load(path)["step"]

    first, *rest = lines(resumable(Walk, save, load, folder=tmp_path, save_at=[2]))
    random.seed(3)
    right = [random.random() for _ in range(3)]
    assert first == (
        f"Resumed after step 2, the run goes another way at step 3: its loss is {right[0]!r} instead of "
        f"{right[2]!r}, its samples are the same."
    )
    told = "\n".join(rest)
    assert "python_rng" in told
    assert "random.getstate()" in told
    assert "ckpt-doctor explain STA113" in told
    assert "torch_rng" not in told
    assert "sampler_rng" not in told
    assert rest[-1] == f"Checkpoint: {tmp_path / 'uninterrupted' / 'step-2'}"


def test_a_generator_that_was_not_put_back(tmp_path: Path) -> None:
    """A state that is in the checkpoint, but not taken out of it, is told as that."""

    def load(run: Walk, path: Path) -> None:
        run.step = torch.load(path, weights_only=True)["step"]

    told = "\n".join(lines(resumable(Walk, Walk.save, load, folder=tmp_path)))
    assert "Not put back: python_rng\n" in told
    assert "Missing: python_rng" not in told


def test_a_new_process_has_other_generators(tmp_path: Path) -> None:
    """A run that seeds nothing gets other numbers after a resume, whichever generator it draws from."""
    for draw, name in (
        (random.random, "python_rng"),
        (lambda: float(numpy.random.rand()), "numpy_rng"),
        (lambda: torch.rand(()), "torch_rng"),
    ):

        class Drawing(Count):
            def __iter__(self, draw: Any = draw) -> Iterator[Any]:
                for _ in super().__iter__():
                    yield draw()

        failure = resumable(Drawing, Drawing.save, Drawing.load, folder=tmp_path / name)
        assert f"Missing: {name} " in str(failure)
        others = {"python_rng", "numpy_rng", "torch_rng"} - {name}
        assert not [other for other in others if other in str(failure)]


def test_the_place_in_the_data(tmp_path: Path) -> None:
    """A run that begins its data anew differs in its samples, which are named; its place is missing."""

    class Reader(Count):
        def __init__(self) -> None:
            super().__init__()
            self.place = 0

        def __iter__(self) -> Iterator[Any]:
            for _ in super().__iter__():
                self.place += 1
                yield 1.0, torch.arange(10) + 10 * self.place

    first, *rest = lines(resumable(Reader, Reader.save, Reader.load, folder=tmp_path))
    assert first == (
        "Resumed after step 1, the run goes another way at step 2: its samples are 10, 11, 12, 13, 14, 15, "
        "... instead of 20, 21, 22, 23, 24, 25, ...."
    )
    assert any(line.startswith("Missing: dataloader_position (STA112") for line in rest)
    assert any(line.startswith("Missing: sampler_epoch, sampler_rng (STA111") for line in rest)


def test_all_is_saved_and_not_all_put_back(tmp_path: Path) -> None:
    """Where the checkpoint holds all that a run needs, the fault is said to lie with load()."""

    def save(run: Count, path: Path) -> None:
        shutil.copy(COMPLETE, path)

    def load(run: Count, path: Path) -> None:
        """Put nothing back."""

    told = lines(resumable(Count, save, load, folder=tmp_path))
    assert told[1].startswith("What every run needs is in the checkpoint: load() does not put it back")
    assert "Missing" not in "\n".join(told)


def test_a_load_that_fails(tmp_path: Path) -> None:
    """An error of load() is a failure of the resume: it is told with its line, and what is missing."""

    def load(run: Count, path: Path) -> None:
        run.step = torch.load(path)["scheduler"]

    first, *rest = lines(resumable(Count, Count.save, load, folder=tmp_path))
    assert first.startswith(
        "The run cannot be resumed after step 1: load() raised KeyError: 'scheduler' (test_resumable.py:"
    )
    assert any(line.startswith("Missing: model (STA105") for line in rest)


def test_a_resumed_run_that_breaks_off(tmp_path: Path) -> None:
    """An error in a step that the uninterrupted run did without one is a failure of the resume."""

    class Fragile(Count):
        fails = False

        def __iter__(self) -> Iterator[Any]:
            for loss in super().__iter__():
                if self.fails and self.step == 4:
                    raise RuntimeError("no such\nthing")
                yield loss

    def load(run: Fragile, path: Path) -> None:
        run.load(path)
        run.fails = True

    first = lines(resumable(Fragile, Fragile.save, load, folder=tmp_path))[0]
    assert first.startswith("Resumed after step 1, the run breaks off at step 4: RuntimeError: no such (")


@pytest.mark.parametrize(
    ("more", "said"),
    [(-1, "ends after step 4; without the stop it went on."), (1, "goes on after step 5; without")],
)
def test_a_run_that_ends_elsewhere(tmp_path: Path, more: int, said: str) -> None:
    """A resumed run ends where the other one did, neither earlier nor later."""

    def load(run: Count, path: Path) -> None:
        run.load(path)
        run.more = more

    assert said in lines(resumable(Count, Count.save, load, folder=tmp_path))[0]


def test_a_run_that_does_not_repeat_itself(tmp_path: Path) -> None:
    """Nothing is blamed on a resume where two uninterrupted runs differ as well."""
    seen = iter(range(1000))

    class Unsteady(Count):
        def __iter__(self) -> Iterator[Any]:
            for _ in super().__iter__():
                yield float(next(seen))

    first, *rest = lines(resumable(Unsteady, Unsteady.save, Unsteady.load, folder=tmp_path))
    assert first.startswith("The run does not repeat itself, even without an interruption: at step 1 ")
    assert "Missing" not in "\n".join(rest)


def test_losses_are_compared_bit_by_bit(tmp_path: Path) -> None:
    """The smallest difference counts, and a loss that is no number equals itself."""

    class Rounded(Count):
        less = 0.0

        def __iter__(self) -> Iterator[Any]:
            for _ in super().__iter__():
                yield torch.tensor(0.1, dtype=torch.float64, requires_grad=True) - self.less

    def load(run: Rounded, path: Path) -> None:
        run.load(path)
        run.less = 2.0**-56

    assert resumable(Rounded, Rounded.save, Rounded.load, folder=tmp_path / "same") is None
    first = lines(resumable(Rounded, Rounded.save, load, folder=tmp_path / "other"))[0]
    assert "0.09999999999999999 instead of 0.1" in first

    class Broken(Count):
        def __iter__(self) -> Iterator[Any]:
            for _ in super().__iter__():
                yield float("nan")

    assert resumable(Broken, Broken.save, Broken.load, folder=tmp_path / "nan") is None


def test_the_callers_generators_are_left_alone(tmp_path: Path) -> None:
    """What the test draws afterwards does not depend on the assertion, however it ends."""

    def drawn() -> tuple[float, float, float]:
        return random.random(), float(numpy.random.rand()), float(torch.rand(()))

    def seed() -> None:
        random.seed(1)
        numpy.random.seed(1)
        torch.manual_seed(1)

    seed()
    expected = drawn()
    seed()
    assert resumable(Walk, Walk.save, Walk.load, folder=tmp_path) is None
    assert drawn() == expected
    seed()
    with pytest.raises(UsageError):
        resumable(list, lambda run, path: None, lambda run, path: None, folder=tmp_path / "again")
    assert drawn() == expected


def test_an_error_of_the_project_is_its_own(tmp_path: Path) -> None:
    """What make_run, the uninterrupted run or save raises is passed on as it is."""

    def save(run: Count, path: Path) -> None:
        raise PermissionError("mine")

    with pytest.raises(PermissionError, match="mine"):
        resumable(Count, save, Count.load, folder=tmp_path)


def test_a_checkpoint_that_cannot_be_inspected(tmp_path: Path) -> None:
    """A format of the project's own costs the cause, not the failure."""

    def save(run: Count, path: Path) -> None:
        path.write_text("a step")

    def load(run: Count, path: Path) -> None:
        """Put nothing back."""

    told = lines(resumable(Count, save, load, folder=tmp_path))
    assert told[0].startswith("Resumed after step 1, ")
    assert told[1].startswith("The checkpoint cannot be inspected: ")


@pytest.mark.parametrize(
    ("values", "options", "what"),
    [
        ([1.0], {}, "ended by itself after step 1"),
        ([1.0, 2.0], {"steps": 1}, "steps=1"),
        ([1.0, 2.0, 3.0], {"save_at": [7]}, r"save_at=\[7\]"),
        ([1.0, 2.0, 3.0], {"save_at": []}, r"save_at=\[\]"),
        ([None, None], {}, "NoneType as its loss"),
        ([torch.ones(2), torch.ones(2)], {}, "Tensor as its loss"),
    ],
)
def test_misuse(tmp_path: Path, values: list[Any], options: dict[str, Any], what: str) -> None:
    """A run that is too short, or yields something else, is told in one line with what to do."""
    with pytest.raises(UsageError, match=what) as caught:
        resumable(
            lambda: list(values), lambda run, path: None, lambda run, path: None, folder=tmp_path, **options
        )
    assert caught.value.hint


def test_something_that_is_no_run(tmp_path: Path) -> None:
    """What cannot be iterated over is no run."""
    with pytest.raises(UsageError, match="make_run"):
        resumable(object, print, print, folder=tmp_path)
