"""What comes back when a cause is taken away."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.comparison import Comparison, Interval, Shape
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.facts.treatment import TREATED, UNTREATED, NotTested, PutBack, Recovery, Trial
from ckpt_doctor.stats.comparison import compare_runs
from ckpt_doctor.stats.recovery import lasting, once, recovered
from tests.builders import control, event, make_run, noisy, resumed
from tests.report.sample import comparison

TRIAL = Trial(code="DAT204", is_lasting=True, put_back=PutBack(what="x", settings={}), cannot="Nothing.")
AT_START = replace(TRIAL, is_lasting=False)

ratios = st.floats(0.5, 5.0)
slowdowns = st.floats(1.2, 5.0)
widths = st.floats(0.0, 0.15)


def against_control(ratio: float, width: float = 0.0, *, floor: float = 1.1) -> Comparison:
    """A comparison with a ratio, whose interval reaches so far on both sides."""
    interval = Interval(ratio, ratio * (1.0 - width), ratio * (1.0 + width))
    return comparison(ratio=interval, effect_floor_ratio=floor)


def came_back(slow: Comparison, treated: Comparison, part: float = 1.0) -> Recovery:
    """What came back of a part of the slowdown, which is there beyond doubt."""
    outcome = lasting(slow, slow, treated, part * slow.delta_s)
    assert isinstance(outcome, Recovery)
    return outcome


@given(slow=slowdowns, treated=ratios, part=st.floats(0.2, 1.0), widths=st.tuples(widths, widths))
def test_the_share_lies_in_its_interval(
    slow: float, treated: float, part: float, widths: tuple[float, float]
) -> None:
    """And the seconds are that share of what is blamed."""
    recovery = came_back(against_control(slow, widths[0]), against_control(treated, widths[1]), part)
    assert recovery.share.low <= recovery.share.value <= recovery.share.high
    assert recovery.recovered_s == pytest.approx(recovery.share.value * recovery.of_s)


@given(slow=slowdowns, part=st.floats(0.2, 1.0))
def test_all_and_nothing(slow: float, part: float) -> None:
    """A treated run as fast as the control has given all back; one as slow as before, nothing."""
    cured = came_back(against_control(slow), against_control(1.0))
    same = came_back(against_control(slow), against_control(slow), part)
    assert cured.share.value == pytest.approx(1.0)
    assert same.share.value == pytest.approx(0.0)
    # A cause that is blamed for a part gives all of that back when the run gains as much.
    gained = slow - part * (slow - 1.0)
    assert came_back(against_control(slow), against_control(gained), part).share.value == pytest.approx(1.0)


@given(slow=slowdowns, treated=st.tuples(ratios, ratios))
def test_the_faster_the_more(slow: float, treated: tuple[float, float]) -> None:
    """Of two treated runs the faster one gives more back."""
    shares = [came_back(against_control(slow), against_control(t)).share.value for t in sorted(treated)]
    assert shares[0] >= shares[1]


@given(slow=slowdowns, treated=ratios, width=widths, floor=st.floats(1.05, 1.4))
def test_doubt_widens_the_interval(slow: float, treated: float, width: float, floor: float) -> None:
    """Noise in the steps does, and so does what any two processes may differ by."""
    sharp = came_back(against_control(slow), against_control(treated, floor=1.05)).share
    for less_sure in (
        came_back(against_control(slow), against_control(treated, width, floor=1.05)).share,
        came_back(against_control(slow), against_control(treated, floor=floor)).share,
    ):
        assert less_sure.value == sharp.value
        assert less_sure.low <= sharp.low + 1e-12
        assert less_sure.high >= sharp.high - 1e-12


def test_a_slowdown_that_is_not_there() -> None:
    """Nothing can come back of a slowdown that is in doubt while it is tested."""
    slow = against_control(1.05, 0.1)
    assert isinstance(lasting(slow, slow, against_control(1.0), 0.01), NotTested)
    assert isinstance(lasting(comparison(), comparison(), against_control(1.0), 0.0), NotTested)


@given(slow=st.floats(1.5, 5.0), treated=st.floats(1.0, 1.4), moods=st.lists(st.floats(0.5, 4.0), min_size=6))
def test_what_the_machine_does_to_a_round_it_does_to_all(
    slow: float, treated: float, moods: list[float]
) -> None:
    """Runs that took turns are held against each other round by round: a mood of the machine cancels out."""
    times = [[[mood * ratio] * 9 for ratio in (1.0, slow, treated)] for mood in moods]
    noisy_ratios = (against_control(slow, 0.5), against_control(treated, 0.5))
    recovery = lasting(noisy_ratios[0], *noisy_ratios, noisy_ratios[0].delta_s, times)
    assert isinstance(recovery, Recovery)
    luck = 0.1 / (slow - 1.0)
    assert recovery.share.value == pytest.approx((slow - treated) / (slow - 1.0))
    assert recovery.share.high - recovery.share.low == pytest.approx(2 * luck)


@given(after=st.floats(0.1, 1e4), treated=st.floats(0.0, 1e4))
def test_a_cost_at_the_start(after: float, treated: float) -> None:
    """What was saved is told as a part of what was blamed, with room for a start of another length."""
    recovery = once(after, treated, after)
    assert isinstance(recovery, Recovery)
    assert recovery.share.low <= recovery.share.value <= recovery.share.high
    assert math.isclose(recovery.recovered_s, after - treated, rel_tol=1e-9, abs_tol=1e-9)


def test_a_start_that_is_not_known() -> None:
    """Without both sides, or without any cost, nothing is told."""
    assert isinstance(once(None, 1.0, 1.0), NotTested)
    assert isinstance(once(1.0, None, 1.0), NotTested)
    assert isinstance(once(0.0, 0.0, None), NotTested)


STEPS, FROM = 400, 200
"""Steps of the resumed runs, and the one from which on the treated run takes turns with the others."""


def with_phase(run: RunRecord, origin: int) -> RunRecord:
    """The run, whose turns from relative step FROM on are taken beside the treated one."""
    turns = tuple(
        replace(turn, phase=TRIAL.name) if i * 20 >= FROM + origin else turn
        for i, turn in enumerate(run.turns)
    )
    return replace(run, turns=turns)


def runs(
    slow_s: list[float], treated_s: float, *events: str, beside: bool = True
) -> tuple[RunRecord, RunRecord, RunRecord]:
    """A control of 10 ms, a resumed run, and a treated one that has caught up by step FROM."""
    before = with_phase(control(count=STEPS + 60), 60)
    after = make_run(slow_s, arm="after", turn_steps=20)
    after = with_phase(after, 0) if beside else replace(after, turns=after.turns[: FROM // 20])
    told = [event(signal, 0, what="done", why="it cannot be") for signal in events]
    treated = make_run(
        noisy(treated_s, STEPS, seed=5), arm=TRIAL.name, turn_steps=20, alone_turns=FROM // 20, events=told
    )
    return before, after, with_phase(treated, 0)


def test_a_trial_that_gives_the_time_back() -> None:
    """The treated run is held against the control's turns beside it, the resumed run against the same."""
    three = runs(noisy(0.02, STEPS, seed=4), 0.0102, TREATED)
    main = compare_runs(*three[:2])
    recovery = recovered(TRIAL, main, three, main.delta_s, None)
    assert isinstance(recovery, Recovery)
    assert recovery.share.value == pytest.approx(0.98, abs=0.05)
    assert recovery.share.low > 0.7
    assert main.after.last <= FROM


def test_a_slowdown_that_fades() -> None:
    """What has faded by itself has not come back, and is not told as if it had."""
    fading = [*noisy(0.03, FROM, seed=4), *noisy(0.0095, STEPS - FROM, seed=6)]
    three = runs(fading, 0.01, TREATED)
    main = compare_runs(*three[:2])
    assert isinstance(recovered(TRIAL, main, three, main.delta_s, None), NotTested)


def test_a_changing_slowdown_without_the_resumed_run() -> None:
    """Where the resumed run could not stay, a slowdown that changes by itself cannot be tested."""
    three = runs(noisy(0.02, STEPS, seed=4), 0.0102, TREATED, beside=False)
    main = compare_runs(*three[:2])
    assert isinstance(recovered(TRIAL, main, three, main.delta_s, None), Recovery)
    decaying = replace(main, shape=Shape.DECAYING)
    assert isinstance(recovered(TRIAL, decaying, three, main.delta_s, None), NotTested)


def test_a_treated_run_in_which_nothing_was_put_back() -> None:
    """It says so, or says why; a treatment by variables alone has nothing to say."""
    slow = noisy(0.02, STEPS, seed=4)
    main = compare_runs(*runs(slow, 0.02)[:2])
    silent = recovered(TRIAL, main, runs(slow, 0.02), main.delta_s, None)
    assert silent == NotTested("the treated run had nothing to put back")
    failing = recovered(TRIAL, main, runs(slow, 0.02, TREATED, UNTREATED), main.delta_s, None)
    assert failing == NotTested("it cannot be")
    outside = replace(TRIAL, put_back=PutBack(what="x", environment={"X": "1"}))
    assert isinstance(recovered(outside, main, runs(slow, 0.02), main.delta_s, None), Recovery)


def test_a_trial_of_the_start() -> None:
    """Its cost is measured in both runs in the same way; how fast the steps are does not matter."""
    before, after = control(), resumed()
    main = compare_runs(before, after)
    treated = make_run(noisy(0.01, 14, seed=3), arm=AT_START.name, events=[event(TREATED, 0, what="done")])
    costs = {after.meta.arm: 9.0, AT_START.name: 1.0}
    recovery = recovered(AT_START, main, (before, after, treated), 8.5, lambda c: costs[c.after.run.meta.arm])
    assert isinstance(recovery, Recovery)
    assert recovery.recovered_s == pytest.approx(8.0)
