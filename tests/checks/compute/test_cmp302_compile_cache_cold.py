"""CMP302: the compile cache was lost."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.facts.comparison import Shape
from ckpt_doctor.facts.report import Severity, Side, Status
from ckpt_doctor.facts.run import Event
from tests.builders import control, event, make_case, one, resumed

FOLDER = "env.TORCHINDUCTOR_CACHE_DIR"


def _compiled(seconds: float, *, hits: int, misses: int) -> list[Event]:
    return [event("compile", 0, seconds / 2, cache_hits=hits, cache_misses=misses) for _ in range(2)]


WARM, COLD = _compiled(1.0, hits=1, misses=0), _compiled(9.0, hits=0, misses=1)


def test_misses_after_hits_with_seconds_are_confirmed() -> None:
    """The first run took its code from the cache, the resumed one compiled for 8 s longer."""
    case = make_case(control(events=WARM), resumed(events=COLD))
    findings, _ = judge(case)
    found = one(findings, "CMP302")
    assert (found.severity, found.shape) == (Severity.ERROR, Shape.ONE_TIME)
    assert found.delta_s == pytest.approx(8.0)
    verdict = decide(case, findings)
    assert (verdict.status, verdict.side, verdict.cause) == (Status.SLOWER, Side.COMPUTE, "CMP302")


def test_a_warm_start_after_a_cold_one_is_healthy() -> None:
    """The first probe of a machine fills the cache, and the resumed run uses it."""
    assert judge(make_case(control(events=COLD), resumed(events=WARM)))[0] == ()


def test_cold_on_both_sides_is_a_doubt_unless_the_folder_changed() -> None:
    """The control had just compiled the same code: another folder explains that it was not found."""
    doubt, _ = judge(make_case(control(events=COLD), resumed(events=COLD)))
    assert one(doubt, "CMP302").severity is Severity.WARNING
    before = control(events=COLD, values={FOLDER: "/cache"})
    moved, _ = judge(make_case(before, resumed(events=COLD, values={FOLDER: "/tmp/x"})))
    assert one(moved, "CMP302").severity is Severity.ERROR


def test_code_that_cannot_be_cached_is_no_loss() -> None:
    """Neither hits nor misses: the cache was not asked."""
    plain = _compiled(5.0, hits=0, misses=0)
    assert judge(make_case(control(events=plain), resumed(events=plain)))[0] == ()


def test_a_backward_compiled_by_itself_is_no_recompile() -> None:
    """A warm cache brings the backward along with the forward; a cold one compiles it later."""
    warm = [event("compile", 0, 1.0, trigger="dynamo", cache_hits=3, cache_misses=0)]
    cold = [
        event("compile", 0, 14.0, trigger="dynamo", cache_hits=0, cache_misses=2),
        event("compile", 0, 4.0, trigger="lazy_backward", cache_hits=0, cache_misses=1),
    ]
    findings, _ = judge(make_case(control(events=warm), resumed(events=cold)))
    assert [f.code for f in findings] == ["CMP302"]
