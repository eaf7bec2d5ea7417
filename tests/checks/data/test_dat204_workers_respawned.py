"""DAT204: workers start again and again."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Location
from tests.builders import RESUMED_STEPS, control, event, make_case, one, resumed

EACH_EPOCH = range(30, RESUMED_STEPS, 20)


def test_starts_in_the_window_with_their_stalls_are_confirmed() -> None:
    """One start an epoch, none before: the stalls count though the median step is unchanged."""
    starts = [event("worker_start", i, 0.16, file="train.py", line=12) for i in EACH_EPOCH]
    findings, _ = judge(make_case(control(), resumed(stalls=dict.fromkeys(EACH_EPOCH, 0.16), events=starts)))
    assert [f.code for f in findings] == ["DAT204"]
    assert findings[0].shape is Shape.PERIODIC
    assert findings[0].location == Location("train.py", 12)


@pytest.mark.parametrize("persistent", [True, False])
@pytest.mark.parametrize("anew", [True, False])
def test_what_keeps_the_workers(persistent: bool, anew: bool) -> None:
    """A loader that is built anew has to be kept, one without the argument needs it; its line is told."""
    within_turns = range(30, RESUMED_STEPS, 20)
    starts = [event("worker_start", i, 0.16, file="train.py", line=12) for i in within_turns]
    made = {"num_workers": 2, "persistent_workers": persistent, "built_file": "data.py", "built_line": 7}
    loaders = [event("loader", i, None, **made) for i in (0, *(within_turns if anew else ()))]
    after = resumed(stalls=dict.fromkeys(within_turns, 0.16), events=[*loaders, *starts])
    found = one(judge(make_case(control(), after))[0], "DAT204")
    assert ("Build the DataLoader once" in found.remedy) == (anew or persistent)
    assert ("et persistent_workers=True" in found.remedy) != (anew and persistent)
    assert found.location == (Location("data.py", 7) if anew else Location("train.py", 12))


def test_the_same_starts_on_both_sides_are_the_script_s_own_way() -> None:
    """Short epochs that restart workers before as well are no fault of the resume."""
    before = control(events=[event("worker_start", i, 0.1) for i in range(90, 270, 20)])
    after = resumed(events=[event("worker_start", i, 0.1) for i in EACH_EPOCH])
    assert judge(make_case(before, after))[0] == ()


def test_the_start_of_the_process_is_not_counted() -> None:
    """Workers have to start once."""
    after = resumed(events=[event("worker_start", 0, 0.5)])
    assert judge(make_case(control(), after))[0] == ()


def test_the_steps_after_a_start_belong_to_it() -> None:
    """What the training loses right after each fork is a cost of the start; what it loses anywhere is not."""
    starts = [event("worker_start", i, 0.1) for i in EACH_EPOCH]
    after_starts = [0.006 if (i - 10) % 20 < 6 else 0.0 for i in range(RESUMED_STEPS)]
    always = [0.006 * 6 / 20] * RESUMED_STEPS
    stalls = dict.fromkeys(EACH_EPOCH, 0.1)
    costs_s = []
    for longer in (after_starts, always):
        findings, _ = judge(make_case(control(), resumed(stalls=stalls, longer=longer, events=starts)))
        costs_s.append(one(findings, "DAT204").delta_s or 0.0)
    assert costs_s[0] - costs_s[1] == pytest.approx(0.006 * 6 / 20, rel=0.35)
