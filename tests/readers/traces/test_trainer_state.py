"""The Hugging Face Trainer's state tells times only where it counts tokens."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError
from ckpt_doctor.readers.runs import read_runs
from ckpt_doctor.readers.step_log import RATE

Json = dict[str, object]


def write(path: Path, history: list[Json]) -> Path:
    """A state as the Trainer writes it."""
    state: Json = {
        "best_metric": None,
        "epoch": 1.0,
        "global_step": 100,
        "log_history": history,
        "max_steps": 9,
    }
    path.write_text(json.dumps(state, indent=2, sort_keys=True))
    return path


def entries(first: int, step_s: float, *, count: int = 12) -> list[Json]:
    """Entries of a session that begins behind some step, one every ten steps."""
    return [
        {
            "loss": 1.5,
            "learning_rate": 1e-4,
            "epoch": 0.1 * k,
            "step": first + 10 * k,
            "train_runtime": 3.0 + step_s * 10 * k + 0.0001,
            "train_tokens_per_second": 900.0,
        }
        for k in range(1, count + 1)
    ]


def test_two_sessions(tmp_path: Path) -> None:
    """The time counts from the beginning of a session: where it goes back, the run was resumed."""
    summary: Json = {"step": 240, "total_flos": 1.0, "train_runtime": 99.0, "train_steps_per_second": 7.5}
    path = write(tmp_path / "trainer_state.json", [*entries(0, 0.2), *entries(120, 0.5), summary])
    runs = read_runs(str(path), str(path))
    assert runs is not None
    for run, step_s in zip(runs, (0.2, 0.5), strict=True):
        steps = run.ranks[0].steps
        assert [steps.step_s(i) for i in range(len(steps))] == pytest.approx([step_s] * 11)
    rates = {event.fields["name"]: event.fields for event in runs[1].ranks[0].events_of(RATE)}
    assert rates["train_steps_per_second"] == {"name": "train_steps_per_second", "per_s": 7.5, "steps": True}
    assert "train_tokens_per_second" in rates


@pytest.mark.parametrize(
    "history",
    [
        [{"loss": 1.5, "step": 10 * k, "epoch": 0.1} for k in range(1, 9)],
        [{"loss": 1.5, "step": 10, "epoch": 0.1}, {"step": 10, "total_flos": 1.0, "train_runtime": 9.0}],
        [],
        [1, None],
    ],
)
def test_no_times(tmp_path: Path, history: list[Json]) -> None:
    """A state that has none says so, and what to compare instead."""
    path = write(tmp_path / "trainer_state.json", history)
    with pytest.raises(InputError, match="losses and steps, but no times") as refused:
        read_runs(str(path), str(path))
    assert "TensorBoard" in (refused.value.hint or "")


def test_cut_short(tmp_path: Path) -> None:
    """A state that was cut short is refused."""
    path = write(tmp_path / "trainer_state.json", entries(0, 0.2))
    path.write_text(path.read_text()[:-40])
    with pytest.raises(InputError, match="cut short or damaged"):
        read_runs(str(path), str(path))
