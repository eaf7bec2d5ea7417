"""A plain log is read through the user's own expression."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError, UsageError
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.evidence import Hints
from ckpt_doctor.readers.runs import read_runs

PER_STEP = r"step (?P<step>\d+).*?(?P<step_s>[\d.]+) s/it"


def run_of(path: Path, pattern: str) -> RunRecord:
    """The last run in a log."""
    runs = read_runs(str(path), str(path), Hints(log_pattern=pattern))
    assert runs is not None
    return runs[1]


def times_of(run: RunRecord) -> list[float]:
    """Its step times."""
    steps = run.ranks[0].steps
    return [steps.step_s(i) for i in range(len(steps))]


def test_durations(tmp_path: Path) -> None:
    """Lines that match are steps, others are passed over."""
    path = tmp_path / "train.log"
    path.write_text("".join(f"[info] step {k} loss 1.5 (2.25 s/it)\nsaving ...\n" for k in range(12)))
    run = run_of(path, PER_STEP)
    assert run.meta.kind == "log"
    assert times_of(run) == pytest.approx([2.25] * 12)


def test_clocks(tmp_path: Path) -> None:
    """Dates in front of the lines are a clock."""
    path = tmp_path / "train.log"
    lines = [f"2024-05-01 23:{58 + k // 20:02d}:{3 * (k % 20):02d},500 iter {k * 10}\n" for k in range(40)]
    path.write_text("".join(lines))
    pattern = r"(?P<time>[\d-]+ [\d:,]+) iter (?P<step>\d+)"
    assert times_of(run_of(path, pattern)) == pytest.approx([0.3] * 39)


def test_a_progress_bar(tmp_path: Path) -> None:
    """States of a bar that overwrite one another are lines; those that repeat a step count once."""
    path = tmp_path / "train.log"
    states = [f" {k}%| {k}/100 [{k // 2 // 60:02d}:{k // 2 % 60:02d}<01:00, 2.00it/s]" for k in range(100)]
    path.write_bytes("\r".join(state for state in states for _ in range(2)).encode())
    pattern = r"(?P<step>\d+)/100 \[(?P<time>[\d:]+)<.*?(?P<steps_per_s>[\d.]+)it/s"
    assert times_of(run_of(path, pattern))[:3] == pytest.approx([0.5] * 3)


def test_milliseconds(tmp_path: Path) -> None:
    """Fields have their unit in their name."""
    path = tmp_path / "train.log"
    path.write_text("".join(f"iter {k}: loss 2.5, time 125.00ms, data 25ms\n" for k in range(8)))
    run = run_of(path, r"iter (?P<step>\d+).*time (?P<step_ms>[\d.]+)ms, data (?P<data_wait_ms>[\d.]+)ms")
    assert times_of(run) == pytest.approx([0.125] * 8)
    assert run.ranks[0].steps.parts["data_wait"] == pytest.approx([0.025] * 8)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("(?P<step_s>", "no regular expression"),
        (r"(?P<speed>\d+)", "speed is no field"),
        (r"(\d+)", "no named group"),
    ],
)
def test_a_wrong_pattern(tmp_path: Path, pattern: str, words: str) -> None:
    """A pattern that cannot work is told before anything is compared."""
    path = tmp_path / "train.log"
    path.write_text("step 1\n")
    with pytest.raises(UsageError, match=words):
        run_of(path, pattern)


@pytest.mark.parametrize(
    ("pattern", "words"),
    [(PER_STEP, "no line of it matches"), (r"(?P<step>\d+)", "how long a step took")],
)
def test_a_log_without_times(tmp_path: Path, pattern: str, words: str) -> None:
    """A log in which nothing is found is one clear line."""
    path = tmp_path / "train.log"
    path.write_text("epoch 1\nepoch 2\n")
    with pytest.raises(InputError, match=words):
        run_of(path, pattern)


def test_no_pattern(tmp_path: Path) -> None:
    """Without a pattern a text is no evidence, and it is said how it can be."""
    path = tmp_path / "train.log"
    path.write_text("step 1 took 2 s\n")
    with pytest.raises(InputError, match="it is text that does not say what it means") as refused:
        read_runs(str(path), str(path))
    assert "--log-pattern" in str(refused.value.hint)
