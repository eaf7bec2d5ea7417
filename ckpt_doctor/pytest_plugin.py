"""The pytest plugin: a project's own tests assert that its runs can be resumed, and are not slower then.

pytest finds it by itself. Each assertion is a fixture, and a function of the same name that can be imported
from here. A failure is a few lines of text: what differs, the cause, its cost, the remedy, the rule.

Nothing is imported before it is used: a project that uses none of it pays nothing.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    import os

    from ckpt_doctor.guard.failure import Failure
    from ckpt_doctor.guard.no_slowdown import Inconclusive

_PREFIX = "ckpt-doctor-"

Run = TypeVar("Run", bound=Iterable[object])


def assert_resumable(
    make_run: Callable[[], Run],
    save: Callable[[Run, Path], object],
    load: Callable[[Run, Path], object],
    *,
    steps: int | None = None,
    save_at: Collection[int] | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> None:
    """Assert that a resumed run is the run that was never interrupted: same losses, same samples, bit by bit.

    ::

        class Training:
            def __iter__(self):
                while self.epoch < 2:
                    for x, y, index in self.loader:
                        ...
                        yield loss, index
                    self.epoch += 1

        assert_resumable(Training, Training.save, Training.load)

    The run is interrupted after each of its steps, so take a small one that lasts longer than an epoch. Every
    resumed run starts with global generators of random numbers in another state, as in a new process. What
    lives in globals of the project's modules is not made anew.

    Args:
        make_run: Makes the run as a new process would. To iterate over it is to train: after each optimizer
            step it yields the loss (a number, or a tensor of one element), or the loss and the indices of
            the samples.
        save: Saves the run to a path, as a file or a folder, while it waits after a step.
        load: Makes a new run go on from there, before its first step.
        steps: Steps of the uninterrupted run at most; None for 24.
        save_at: Steps after which the run is interrupted, from 1; None for each of them.
        folder: Where checkpoints go, in a new folder; it stays where the assertion fails.
    """
    __tracebackhide__ = True

    def judge(place: Path) -> Failure | None:
        __tracebackhide__ = True
        from ckpt_doctor.guard.resumable import STEPS, resumable

        most = STEPS if steps is None else steps
        return resumable(make_run, save, load, folder=place, steps=most, save_at=save_at)

    _check(_in_folder(judge, folder))


def assert_state_kept(path: str | os.PathLike[str], require: Iterable[str]) -> None:
    """Assert that a checkpoint keeps states. Nothing in it is executed.

    Args:
        path: A file or a folder, or an address that fsspec knows.
        require: Kinds of state, as ``ckpt-doctor inspect --require`` takes them.
    """
    __tracebackhide__ = True

    def judge() -> Failure | None:
        from ckpt_doctor.guard.state_kept import state_kept

        return state_kept(path, require)

    _check(judge)


def assert_no_resume_slowdown(
    *command: str,
    max_ratio: float | None = None,
    max_once_s: float = 0.0,
    inconclusive: Inconclusive = "fail",
    folder: str | os.PathLike[str] | None = None,
    **options: Any,
) -> None:
    """Assert that a script is as fast after a resume as it was before: runs it twice, which takes a minute.

    ::

        assert_no_resume_slowdown("train.py", "--out", "run", resume_args="--resume {checkpoint}", threads=1)

    Args:
        command: The script and its arguments, as behind ``ckpt-doctor probe``.
        max_ratio: The largest ratio of the mean step times, after over before, that passes; None for 1.1.
        max_once_s: What the resume may cost once, in seconds, beyond what is usual.
        inconclusive: Whether a measurement that is too weak to say fails (``"fail"``) or passes (``"pass"``).
        folder: Where both recordings go, in a new folder; it stays where the assertion fails.
        options: Options of ``ckpt-doctor probe`` as fields of ``ProbeRequest``: resume_args, checkpoint_path,
            turns, turn_s, threads, steady_heap, confirm, ...
    """
    __tracebackhide__ = True

    def judge(place: Path) -> Failure | None:
        from ckpt_doctor.guard.no_slowdown import MAX_RATIO, no_slowdown

        return no_slowdown(
            command,
            folder=place,
            max_ratio=MAX_RATIO if max_ratio is None else max_ratio,
            max_once_s=max_once_s,
            inconclusive=inconclusive,
            options=options,
        )

    _check(_in_folder(judge, folder))


@contextmanager
def assert_no_recompiles() -> Iterator[None]:
    """Assert that torch.compile compiles nothing in the block that it has compiled before.

    ::

        train(model, steps=3)  # every shape once
        with assert_no_recompiles():
            train(model, steps=10)
    """
    from ckpt_doctor.guard.no_recompiles import Recompiles

    recompiles = Recompiles()
    yield
    _check(recompiles.judge)


@pytest.fixture(name="assert_resumable")
def _resumable_in_own_folder(tmp_path: Path) -> Callable[..., None]:
    """Asserts that a resumed run is the run that was never interrupted (`assert_resumable`)."""
    return partial(assert_resumable, folder=tmp_path)


@pytest.fixture(name="assert_state_kept")
def _state_kept() -> Callable[..., None]:
    """Asserts that a checkpoint keeps states (`assert_state_kept`)."""
    return assert_state_kept


@pytest.fixture(name="assert_no_resume_slowdown")
def _no_slowdown_in_own_folder(tmp_path: Path) -> Callable[..., None]:
    """Asserts that a script is not slower after a resume (`assert_no_resume_slowdown`)."""
    return partial(assert_no_resume_slowdown, folder=tmp_path)


@pytest.fixture(name="assert_no_recompiles")
def _no_recompiles() -> Callable[[], AbstractContextManager[None]]:
    """Asserts that a block compiles nothing again (`assert_no_recompiles`)."""
    return assert_no_recompiles


def _in_folder(
    judge: Callable[[Path], Failure | None], folder: str | os.PathLike[str] | None
) -> Callable[[], Failure | None]:
    """What judges in a new folder, which stays only where there is a failure to look into."""

    def judged() -> Failure | None:
        __tracebackhide__ = True
        place = tempfile.mkdtemp(prefix=_PREFIX, dir=folder)
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, place, ignore_errors=True)
            failure = judge(Path(place))
            if failure is not None:
                stack.pop_all()
        return failure

    return judged


def _check(judge: Callable[[], Failure | None]) -> None:
    """Fail the test, with the failure's own words and without a traceback through this package."""
    __tracebackhide__ = True
    from ckpt_doctor.errors import CkptDoctorError
    from ckpt_doctor.guard.failure import could_not_judge

    try:
        failure = judge()
    except CkptDoctorError as error:
        failure = could_not_judge(error)
    if failure is not None:
        pytest.fail(str(failure), pytrace=False)
