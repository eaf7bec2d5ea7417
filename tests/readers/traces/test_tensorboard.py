"""TensorBoard's folders become runs, by the wall clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.runs import read_runs
from ckpt_doctor.readers.step_log import RATE

writers = pytest.importorskip("tensorboardX")
BEGAN_S = 1.7e9


def write(
    folder: Path, step_s: float, *, began_s: float = BEGAN_S, first: int = 0, count: int = 30, every: int = 10
) -> Path:
    """What a training leaves: a loss every few steps, validation at times, the epoch with each."""
    with writers.SummaryWriter(str(folder)) as writer:
        for k in range(count):
            step, wall_s = first + every * k, began_s + step_s * every * k
            writer.add_scalar("train/loss", 1.0, step, walltime=wall_s)
            writer.add_scalar("epoch", k / 10, step, walltime=wall_s)
            if k % 5 == 4:
                writer.add_scalar("val/loss", 1.0, step + 3, walltime=wall_s + 4 * step_s)
                writer.add_scalar("epoch", k / 10, step + 3, walltime=wall_s + 4 * step_s)
    return folder


def run_of(path: Path) -> RunRecord:
    """The last run in a folder."""
    runs = read_runs(str(path), str(path))
    assert runs is not None
    return runs[1]


def times_of(run: RunRecord) -> list[float]:
    """Its step times."""
    steps = run.ranks[0].steps
    return [steps.step_s(i) for i in range(len(steps))]


def test_a_folder(tmp_path: Path) -> None:
    """The time between two entries of one tag, over the steps between them."""
    run = run_of(write(tmp_path, 0.25))
    assert run.meta.kind == "TensorBoard folder"
    assert run.meta.created_unix_s == BEGAN_S
    assert times_of(run) == pytest.approx([0.25] * 29)
    assert run.ranks[0].steps.strides == (10,) * 29


def test_a_file(tmp_path: Path) -> None:
    """A single event file can be named as well."""
    (path,) = write(tmp_path / "a", 0.25).iterdir()
    assert times_of(run_of(path)) == pytest.approx([0.25] * 29)


@pytest.mark.parametrize("below", ["runs/Nov29_12-00-00_host", "lightning_logs/version_3", "."])
def test_folders_of_frameworks(tmp_path: Path, below: str) -> None:
    """The Trainer's and Lightning's event files are found below their output folder, beside checkpoints."""
    (tmp_path / "checkpoint-500").mkdir()
    (tmp_path / "checkpoint-500" / "model.safetensors").write_bytes(b"\0" * 64)
    (tmp_path / below).mkdir(parents=True, exist_ok=True)
    write(tmp_path / below, 0.25)
    assert times_of(run_of(tmp_path)) == pytest.approx([0.25] * 29)


def test_before_and_after_in_one_folder(tmp_path: Path) -> None:
    """Of one folder the last two runs are compared; of two folders the last one of each, which is said."""
    write(tmp_path / "runs" / "a", 0.1, began_s=BEGAN_S)
    write(tmp_path / "runs" / "c", 0.3, began_s=BEGAN_S + 9000, first=250)
    write(tmp_path / "runs" / "b", 0.2, began_s=BEGAN_S + 5000, first=200)
    runs = read_runs(str(tmp_path), f"{tmp_path}/runs/..")
    assert runs is not None
    assert [times_of(run)[0] for run in runs] == pytest.approx([0.2, 0.3])
    assert "Run 2 of 3" in runs[0].notes[0]
    apart = read_runs(str(tmp_path / "runs" / "a"), str(tmp_path))
    assert apart is not None
    assert [times_of(run)[0] for run in apart] == pytest.approx([0.1, 0.3])
    assert apart[0].notes == ()
    assert "Run 3 of 3" in apart[1].notes[0]


def test_writers_of_one_run(tmp_path: Path) -> None:
    """Files that were written at the same time are one run: the tag with the most entries is its clock."""
    write(tmp_path / "train", 0.25, every=5, count=40)
    write(tmp_path / "other", 0.25, every=20, count=8)
    run = run_of(tmp_path)
    assert run.notes == ()
    assert run.ranks[0].steps.strides == (5,) * 39


def test_what_the_run_says_of_itself(tmp_path: Path) -> None:
    """Parts of the step are taken from tags that name them, and its own speed is kept beside."""
    with writers.SummaryWriter(str(tmp_path)) as writer:
        for k in range(30):
            wall_s = BEGAN_S + 0.5 * k
            writer.add_scalar("train/loss", 1.0, k, walltime=wall_s)
            writer.add_scalar("perf/data_time", 0.2, k, walltime=wall_s)
            writer.add_scalar("eval/steps_per_second", 99.0, k, walltime=wall_s)
        writer.add_scalar("train/train_steps_per_second", 15.2, 29, walltime=BEGAN_S + 20)
        writer.add_scalar("train/train_samples_per_second", 121.6, 29, walltime=BEGAN_S + 20)
    run = run_of(tmp_path)
    assert run.ranks[0].steps.parts["data_wait"] == pytest.approx([0.2] * 29)
    assert run.ranks[0].steps.parts["rest"] == pytest.approx([0.3] * 29)
    assert {event.fields["name"]: event.fields["steps"] for event in run.ranks[0].events_of(RATE)} == {
        "train/train_steps_per_second": True,
        "train/train_samples_per_second": False,
    }


def test_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long run every so-many-th entry is kept, which loses no time."""
    from ckpt_doctor.readers.traces import tensorboard

    monkeypatch.setattr(tensorboard, "_MAX_POINTS", 16)
    run = run_of(write(tmp_path, 0.25, count=200))
    assert 7 <= len(run.ranks[0].steps) < 16
    assert times_of(run) == pytest.approx([0.25] * len(run.ranks[0].steps))


def test_too_few_entries(tmp_path: Path) -> None:
    """A folder with no series of steps is one clear line."""
    write(tmp_path, 0.25, count=2)
    with pytest.raises(InputError, match="no scalar in it was logged at 4 steps") as refused:
        run_of(tmp_path)
    assert str(tmp_path) in refused.value.what


def test_damaged(tmp_path: Path) -> None:
    """A damaged file is named."""
    (path,) = write(tmp_path, 0.25).iterdir()
    data = bytearray(path.read_bytes())
    data[400] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="wrong checksum") as refused:
        run_of(tmp_path)
    assert path.name in refused.value.what
