"""Tables of steps become runs."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError, UsageError
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.evidence import Hints
from ckpt_doctor.readers.runs import read_runs
from ckpt_doctor.readers.step_log import RATE


def run_of(path: Path, **columns: str) -> RunRecord:
    """The last run in a table."""
    runs = read_runs(str(path), str(path), Hints(columns=columns))
    assert runs is not None
    return runs[1]


def times_of(run: RunRecord) -> list[float]:
    """Its step times."""
    steps = run.ranks[0].steps
    return [steps.step_s(i) for i in range(len(steps))]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv(tmp_path: Path, delimiter: str, encoding: str) -> None:
    """A CSV is read by its header, whatever its delimiter and encoding."""
    path = tmp_path / "steps"
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["", "global_step", "loss", "iter_time (ms)", "data_time", "note, of mine"])
        writer.writerows([[i, i, 1.5 - i / 100, 250 + i, 0.1, 'said "so"\nand more'] for i in range(30)])
    run = run_of(path)
    assert run.meta.kind == "table of steps"
    assert times_of(run) == pytest.approx([0.25 + i / 1000 for i in range(30)])
    assert run.ranks[0].steps.parts["data_wait"] == pytest.approx([0.1] * 30)


def test_what_tensorboard_exports(tmp_path: Path) -> None:
    """The CSV that TensorBoard's pages offer has wall times and steps."""
    path = tmp_path / "loss.csv"
    rows = "".join(f"{1.7e9 + 3.5 * k},{10 * k},0.5\n" for k in range(6))
    path.write_text(f"Wall time,Step,Value\n{rows}")
    assert times_of(run_of(path)) == pytest.approx([0.35] * 5)


def test_json_lines(tmp_path: Path) -> None:
    """One object a line, compressed or not; objects within are flattened; a line about the run is no step."""
    path = tmp_path / "log.jsonl.gz"
    rows: list[object] = [{"note": "begin", "time": {}}]
    rows += [{"step": k, "time": {"step": 0.5, "data_wait_s": 0.2}, "tags": ["a"]} for k in range(20)]
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode() + b"\n\n"))
    run = run_of(path)
    assert times_of(run) == pytest.approx([0.5] * 20)
    assert run.ranks[0].steps.parts["data_wait"] == pytest.approx([0.2] * 20)


def test_a_log_of_llama_factory(tmp_path: Path) -> None:
    """Its clock has whole seconds, and its throughput is kept beside it."""
    path = tmp_path / "trainer_log.jsonl"
    rows = [
        {
            "current_steps": 5 * k,
            "total_steps": 1000,
            "loss": 1.0,
            "elapsed_time": f"0:{(7 * k) // 60:02d}:{(7 * k) % 60:02d}",
            "throughput": 571.0,
            "total_tokens": 20000 * k,
        }
        for k in range(1, 101)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = run_of(path)
    assert times_of(run) == pytest.approx([1.4] * len(run.ranks[0].steps), rel=0.01)
    assert {event.fields["name"] for event in run.ranks[0].events_of(RATE)} == {"throughput"}


def test_columns_that_the_user_names(tmp_path: Path) -> None:
    """What the user says of a column wins over its name."""
    path = tmp_path / "a.csv"
    path.write_text("n,dt,step_time\n" + "".join(f"{k},80,0.5\n" for k in range(10)))
    assert times_of(run_of(path)) == pytest.approx([0.5] * 10)
    assert times_of(run_of(path, step="n", step_ms="dt")) == pytest.approx([0.08] * 10)
    with pytest.raises(UsageError, match="speed is no field"):
        run_of(path, speed="dt")


def test_a_column_named_time(tmp_path: Path) -> None:
    """It is a clock where it rises, and a duration, which is said, where it goes back and forth."""
    path = tmp_path / "a.csv"
    path.write_text("step,time\n" + "".join(f"{k},{0.5 * k}\n" for k in range(10)))
    assert times_of(run_of(path)) == pytest.approx([0.5] * 9)
    path.write_text("step,time\n" + "".join(f"{k},{0.5 + 0.1 * (k % 2)}\n" for k in range(10)))
    run = run_of(path)
    assert times_of(run) == pytest.approx([0.5, 0.6] * 5)
    assert any("seconds of each step" in note for note in run.notes)


def test_several_step_numbers(tmp_path: Path) -> None:
    """A logger's count of its own calls gives way to the training's step."""
    path = tmp_path / "wandb.csv"
    rows = "".join(f"{k},{k * 50},{1.7e9 + 5.0 * k + 0.25}\n" for k in range(10))
    path.write_text(f"_step,trainer/global_step,_timestamp\n{rows}")
    assert times_of(run_of(path)) == pytest.approx([0.1] * 9)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epoch,step,train_loss\n0,1,2.5\n0,2,2.4\n", "its columns are epoch, step, train_loss"),
        ('{"step": 1, "loss": 2}\n{"step": 2, "lo', "how long a step took: its columns are step, loss"),
        ('{"step": 1, "loss": 2}\n[1]\n{}\n', "entry 2 of it is no JSON object"),
        ("step,step_s\n", "holds no steps|how long a step took"),
        ("step,time\n1,2\n", "holds no steps"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, text: str, words: str) -> None:
    """Each is one clear line with the path and what to do."""
    path = tmp_path / "a.log"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as refused:
        run_of(path)
    assert str(path) in refused.value.what
    assert refused.value.hint


@pytest.mark.parametrize("text", ["", '{"a": {"b": 1}}', "{}"])
def test_what_is_no_table(tmp_path: Path, text: str) -> None:
    """Nothing, and other JSON, is none, and is left to other readers."""
    path = tmp_path / "a"
    path.write_text(text)
    assert read_runs(str(path), str(path)) is None


@pytest.mark.parametrize("text", ["hello\n", "hello, world\nhow, are you\n", "1,2\n3,4\n"])
def test_a_text_that_is_no_table(tmp_path: Path, text: str) -> None:
    """It is told that its columns have no names that are known."""
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(InputError, match="it is text that does not say what it means") as refused:
        read_runs(str(path), str(path))
    assert "--column" in str(refused.value.hint)


def test_a_line_without_end(tmp_path: Path) -> None:
    """A line of megabytes is refused, and not read into memory as a whole."""
    path = tmp_path / "a.csv"
    path.write_text("step,step_s\n1,2\n" + "x" * (3 << 20))
    with pytest.raises(InputError, match="line of more than"):
        run_of(path)
