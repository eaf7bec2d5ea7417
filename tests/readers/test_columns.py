"""Names of columns are understood as people and frameworks write them."""

from __future__ import annotations

import pytest

from ckpt_doctor.errors import UsageError
from ckpt_doctor.readers.columns import (
    Clock,
    Field,
    clock_s,
    field_named,
    field_of,
    is_elsewhere,
    is_rate,
    is_step_rate,
    number,
)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("step", Field("step")),
        ("Step", Field("step")),
        ("trainer/global_step", Field("step")),
        ("_step", Field("step")),
        ("current_steps", Field("step")),
        ("Wall time", Field("time_s")),
        ("_timestamp", Field("time_s")),
        ("train_runtime", Field("time_s")),
        ("step_time", Field("step_s")),
        ("iter_time (ms)", Field("step_s", 1e-3)),
        ("perf/step_s", Field("step_s")),
        ("s/it", Field("step_s")),
        ("time/step", Field("step_s")),
        ("ms/iter", Field("step_s", 1e-3)),
        ("time_metrics/data_loading(s)", Field("data_wait_s")),
        ("data_time", Field("data_wait_s")),
        ("parts/data_wait_s", Field("data_wait_s")),
        ("fwd_ms", Field("forward_s", 1e-3)),
        ("backward_s", Field("backward_s")),
        ("it/s", Field("steps_per_s")),
        ("train_steps_per_second", Field("steps_per_s")),
        ("batch_size", Field("samples")),
        ("loss", None),
        ("forward", None),
        ("samples", None),
        ("tokens", None),
        ("learning_rate", None),
        ("epoch", None),
        ("eval_steps_per_second", None),
    ],
)
def test_what_a_column_holds(name: str, field: Field | None) -> None:
    """A name says what its values are and in which unit, or nothing."""
    assert field_of(name) == field


@pytest.mark.parametrize(
    ("name", "rate", "steps"),
    [
        ("train/train_samples_per_second", True, False),
        ("train/train_steps_per_second", True, True),
        ("throughput", True, False),
        ("tokens/sec", True, False),
        ("throughput(tps)", True, False),
        ("it/s", True, True),
        ("eval/samples_per_second", False, False),
        ("step_s", False, False),
        ("loss", False, False),
        ("steps", False, False),
    ],
)
def test_rates(name: str, rate: bool, steps: bool) -> None:
    """A framework's own speeds are known by their names, those of validation left out."""
    assert (is_rate(name), is_step_rate(name)) == (rate, steps)


def test_elsewhere() -> None:
    """What is measured in validation is no time of a training step."""
    assert is_elsewhere("eval/loss")
    assert is_elsewhere("val_loss")
    assert not is_elsewhere("evaluate_me")
    assert not is_elsewhere("train/loss")


def test_field_named() -> None:
    """A user names a field, or is told which there are."""
    assert field_named("step_ms") == Field("step_s", 1e-3)
    with pytest.raises(UsageError, match="speed is no field") as refused:
        field_named("speed")
    assert "step_s" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (12.5, 12.5),
        ("12.5", 12.5),
        ("0:00:12", 12.0),
        ("1:02:03.5", 3723.5),
        ("02:03", 123.0),
        ("1 day, 0:00:01", 86401.0),
        ("2024-01-02 03:04:05", 1704164645.0),
        ("2024-01-02T03:04:05.250Z", 1704164645.25),
        ("2024-01-02 03:04:05,250", 1704164645.25),
        ("2024/01/02 03:04:05+01:00", 1704164645.0 - 3600),
        ("2024-13-02 03:04:05", None),
        ("yesterday", None),
        ("", None),
        (None, None),
        (True, None),
    ],
)
def test_clocks(value: object, seconds: float | None) -> None:
    """Numbers, times of the day and dates are seconds; anything else is no time."""
    assert clock_s(value) == seconds


def test_midnight() -> None:
    """Times of the day go on behind midnight; a clock that begins anew does not."""
    clock = Clock()
    assert [clock.read(text) for text in ("23:59:50", "00:00:10", "12:00:00")] == [86390, 86410, 129600]
    clock = Clock()
    assert [clock.read(text) for text in ("5:00:00", "0:00:10")] == [18000, 10]


@pytest.mark.parametrize("value", ["nan", "inf", "1e400", "x", None, True, [], 10**400])
def test_what_is_no_number(value: object) -> None:
    """Only finite numbers are numbers."""
    assert number(value) is None
