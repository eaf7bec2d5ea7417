"""Whether the state came back, as far as it can be seen."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.checks.checklist.item5_state_restored import judge
from ckpt_doctor.facts.checklist import ItemStatus, Judged
from ckpt_doctor.facts.report import Case
from ckpt_doctor.facts.states import StateKind
from tests.builders import control, event, make_case, make_checklist_case, make_checkpoint, resumed

LOAD = event("load", 0, 0.2, path="ckpt.pt")


def case_of(*, absent: Collection[StateKind] = (), **changes: Any) -> Case:
    """A resume that loaded a checkpoint, with the resumed run changed."""
    case = make_case(control(), resumed(**{"events": [LOAD], **changes}))
    present = [kind for kind in StateKind if kind not in absent]
    return replace(case, checkpoints=(make_checkpoint(present, absent),))


def judged(case: Case, **changes: Any) -> Judged:
    """The item for a case."""
    return judge(make_checklist_case(case, **changes))


def test_what_is_seen_and_what_is_not() -> None:
    """Load, data and optimizer were seen; the sentence says what was not."""
    outcome = judged(case_of())
    assert outcome.status is ItemStatus.CHECKED
    assert "RNGs, scheduler unseen" in outcome.sentence


def test_an_optimizer_that_came_back_as_another() -> None:
    """State of another type is not the state that was saved, though no step is slower for it."""
    wide = {"optimizer.0.state_dtypes": "float64:2000", "optimizer.0.state_bytes": 2000}
    outcome = judged(case_of(values=wide))
    assert outcome.status is ItemStatus.FAILED
    assert outcome.sentence == "optimizer.0.state_bytes 1000 -> 2000 and 1 more"


def test_data_that_begin_anew() -> None:
    """The order is a state, too; where the project ignores that it is lost, it is not restored either."""
    case = case_of(digests=[str(i) for i in range(200)])
    outcome = judged(case)
    assert (outcome.status, outcome.codes) == (ItemStatus.FAILED, ("DAT201",))
    assert judged(case, findings=()).status is ItemStatus.NOT_EVALUATED


def test_what_the_file_lacks_cannot_come_back() -> None:
    """Generators that were not saved fail the item."""
    outcome = judged(case_of(absent=(StateKind.TORCH_RNG,)))
    assert (outcome.status, outcome.codes) == (ItemStatus.FAILED, ("STA113",))


@pytest.mark.parametrize(
    ("changes", "words"), [({"events": []}, "no load"), ({"digests": None}, "sample_order")]
)
def test_what_is_not_known_of_the_run(changes: dict[str, Any], words: str) -> None:
    """Without a load, or the data's order, nothing is claimed."""
    outcome = judged(case_of(**changes))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert words in outcome.sentence


def test_a_checkpoint_that_was_not_read() -> None:
    """Nobody knows what the file holds, so nobody knows what came back."""
    outcome = judged(replace(case_of(), checkpoints=()))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert "not known" in outcome.sentence


def test_an_optimizer_that_nobody_described() -> None:
    """Two runs without fingerprints do not differ, and say nothing."""
    runs = (control(), resumed(events=[LOAD]))
    bare = [replace(run, ranks=(replace(run.ranks[0], fingerprints=()),)) for run in runs]
    outcome = judged(replace(make_case(*bare), checkpoints=case_of().checkpoints))
    assert outcome.status is ItemStatus.NOT_EVALUATED
    assert outcome.sentence == "the optimizer was not described"


def test_a_checkpoint_that_the_script_read_in_its_own_way() -> None:
    """No library was asked to load, but the file was opened for reading."""
    read = replace(resumed(), read_files=frozenset({"ckpt.pt"}))
    case = replace(make_case(control(), read), checkpoints=case_of().checkpoints)
    assert judged(case).status is ItemStatus.CHECKED
