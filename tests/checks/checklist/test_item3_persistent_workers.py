"""Whether the workers of the loaders live on."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.checklist.item3_persistent_workers import judge
from ckpt_doctor.facts.checklist import ItemStatus, Judged
from ckpt_doctor.facts.run import Event
from tests.builders import RESUMED_STEPS, SAVED_AT, control, event, make_case, make_checklist_case, resumed

FIRST = event("worker_start", 0, 0.1, file="train.py", line=12)
EACH_EPOCH = range(30, RESUMED_STEPS, 20)


def loader(*, persistent: bool, workers: int = 2) -> Event:
    """The first use of a loader."""
    return event("loader", 0, None, num_workers=workers, persistent_workers=persistent)


def starts(*steps: int, line: int = 12) -> list[Event]:
    """Starts of workers from one line."""
    return [event("worker_start", step, 0.01, file="train.py", line=line) for step in steps]


def judged(*events: Event) -> Judged:
    """The item where both runs had some events, at the same steps of the training."""
    before = [event(e.signal, e.step + SAVED_AT, e.duration_s, **e.fields) for e in events]
    case = make_case(control(events=before), resumed(events=events))
    return judge(make_checklist_case(case))


def test_no_workers_at_all() -> None:
    """A loader that reads in the training process has none to keep, and neither has a script without one."""
    assert judged().status is ItemStatus.CHECKED
    outcome = judged(loader(persistent=False, workers=0))
    assert (outcome.status, outcome.sentence) == (ItemStatus.CHECKED, "no loader has workers")


def test_workers_of_the_first_run_alone() -> None:
    """Where only the resumed run has none, and no step is slower for it, the list says whose there were."""
    usual = {"values": {"loader.0.num_workers": 0}}
    case = make_case(
        control(events=[loader(persistent=True)]),
        resumed(events=[loader(persistent=True, workers=0)], **usual),
    )
    outcome = judge(make_checklist_case(case))
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence == "the resumed run's loaders have none, the first run's had 2"


def test_workers_that_are_kept() -> None:
    """The argument is on, and no start lies within the window."""
    outcome = judged(loader(persistent=True), FIRST)
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence.startswith("on; no start within ")


def test_two_loaders_that_start_once_each() -> None:
    """Loaders for validation and test that begin within the window start their workers there, once."""
    outcome = judged(loader(persistent=True), FIRST, *starts(50, line=20), *starts(90, line=30))
    assert outcome.status is ItemStatus.CHECKED
    assert outcome.sentence.startswith("on; 2 starts within ")


def test_a_window_shorter_than_an_epoch() -> None:
    """The argument is off, but no epoch ended: what that costs was not seen."""
    outcome = judged(loader(persistent=False), FIRST)
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "no epoch ended" in outcome.sentence


def test_a_loader_that_was_not_described() -> None:
    """Workers were started, and nobody knows by what arguments."""
    outcome = judged(FIRST)
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "not described" in outcome.sentence


@pytest.mark.parametrize(("persistent", "steps"), [(False, (100,)), (True, tuple(EACH_EPOCH))])
def test_workers_that_start_again_in_both_runs(persistent: bool, steps: tuple[int, ...]) -> None:
    """No fault of the resume, and no persistent workers: the argument is off, or loaders are built anew."""
    outcome = judged(loader(persistent=persistent), FIRST, *starts(*steps))
    assert outcome.status is ItemStatus.FAILED
    assert int(outcome.sentence.split()[0]) == len(steps)


def test_workers_that_the_resume_lost() -> None:
    """What DAT204 found is told by its name."""
    events = starts(*EACH_EPOCH)
    case = make_case(control(), resumed(stalls=dict.fromkeys(EACH_EPOCH, 0.16), events=events))
    outcome = judge(make_checklist_case(case))
    assert (outcome.status, outcome.sentence) == (ItemStatus.FAILED, "workers respawned")
    assert outcome.codes == ("DAT204",)


@pytest.mark.parametrize("signal", ["worker_start", "loader"])
def test_loaders_that_are_not_seen(signal: str) -> None:
    """Without the hook no start and no argument is known, and none is not claimed."""
    case = make_case(control(), resumed(not_measured={signal: "AttributeError: x"}))
    outcome = judge(make_checklist_case(case))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "AttributeError" in outcome.sentence
