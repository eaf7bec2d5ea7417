"""Recordings are read as far as they go, and refused in one line where they cannot be."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckpt_doctor.errors import RecordingError
from ckpt_doctor.facts.moments import KINDS, START, TAKE
from ckpt_doctor.facts.recording import HOLD
from ckpt_doctor.facts.run import HostSample, LeftOver, ProcessSample, SourceLine, Turn
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.readers.recordings import is_recording, read_recording
from tests.conftest import Record
from tests.recorded import TRAIN

SAMPLE = ProcessSample(1.0, 2, 3, 4, 5.0, None, 7, None, 9, 0.5, 2)
HOST = HostSample(1.0, 2.0, None, 0.1, 0.2, None, 4)


def journal(folder: Path, *lines: object, rank: int = 0, pid: int = 1, **header: object) -> Path:
    """Write a journal."""
    first: dict[str, object] = {
        "kind": "ckpt-doctor journal",
        "version": 2,
        "rank": rank,
        "node": "n",
        "pid": pid,
    }
    first |= {"started_s": 0.0, "unix_minus_monotonic_s": 0.0, **header}
    path = folder / f"rank{rank:05d}-{pid}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (first, *lines)))
    return path


def step(index: int, *digests: str, **counters: float) -> list[list[object]]:
    """A step's lines: 1 s long, with a gap of 1 ms before it, and one optimizer step in it."""
    moments_ns: list[list[int]] = [[] for _ in range(KINDS)]
    if index:
        moments_ns[START].append(index * 10**9 + 10**6)
    moments_ns[TAKE].append((index + 1) * 10**9)
    return [["m", moments_ns, []], ["c", index, counters], ["d", index, list(digests)]]


@pytest.fixture
def writer(tmp_path: Path) -> RecordingWriter:
    """A recording that has its header."""
    return RecordingWriter(tmp_path / "recording", ["python", "train.py"], "before", {"steps": 3})


def test_what_was_written_is_read(writer: RecordingWriter) -> None:
    """Header, trailer, samples and turns come back as the facts that they were."""
    writer.add_sample(SAMPLE, HOST)
    writer.add_sample(None, HOST)
    writer.add_turn(Turn(1.0, 2.0, "alone", sampled=False))
    journal(writer.path, *step(0), *step(1), ["t", "itself", 3.0])
    writer.finish(
        ended_by="doctor", exit_code=None, origin_step=1, checkpoint="c.pt", not_measured={"a": "b"}
    )
    run = read_recording(writer.path)
    assert run.samples == (SAMPLE,)
    assert run.host == (HOST, HOST)
    assert run.turns == (Turn(1.0, 2.0, "alone", sampled=False),)
    assert run.not_measured == {"a": "b"}
    meta = run.meta
    assert (meta.command, meta.arm, meta.options) == (("python", "train.py"), "before", {"steps": 3})
    assert (meta.complete, meta.ended_by, meta.exit_code) == (True, "doctor", None)
    assert (meta.origin_step, meta.checkpoint) == (1, "c.pt")
    assert run.ranks[0].hook_s == 0.001


def test_counters_that_a_step_does_not_mention(writer: RecordingWriter) -> None:
    """What is counted as it happens was zero; what the kernel counts is unknown."""
    journal(
        writer.path,
        *step(0, batches=2, user_s=0.5),
        *step(1, user_s=0.25, gc_pauses=1),
        *step(2, major_faults=3),
    )
    counters = read_recording(writer.path).ranks[0].steps.counters
    assert counters["batches"] == (2, 0, 0)
    assert counters["gc_pauses"] == (0, 1, 0)
    assert counters["major_faults"] == (None, None, 3)


@pytest.mark.parametrize(
    ("written", "read", "source"),
    [
        ([["i:1"], ["i:2", "i:3"]], ["1", "2 3"], "indices"),
        ([["b:1"], []], ["1", None], "batches"),
        ([["m:1"], ["m:2"]], ["1", "2"], "batches"),
        ([["b:1", "m:5"], ["i:2", "m:6"]], [None, "2"], "indices"),
        ([[], []], [None, None], None),
    ],
)
def test_what_was_hashed(
    writer: RecordingWriter, written: list[list[str]], read: list[str | None], source: str | None
) -> None:
    """Of several kinds of digests the best one is taken: indices, else batches, else the model's input."""
    journal(writer.path, *(line for index, digests in enumerate(written) for line in step(index, *digests)))
    steps = read_recording(writer.path).ranks[0].steps
    assert (list(steps.digests), steps.digest_source) == (read, source)


def test_processes_that_were_left_behind(writer: RecordingWriter) -> None:
    """They come back as the facts that they were, beside the samples."""
    writer.add_left_overs(())
    writer.add_sample(None, HOST)
    left = LeftOver(7, "python train.py", 1.7e9, 100, holds_gpu=True)
    writer.add_left_overs([left])
    journal(writer.path, *step(0))
    run = read_recording(writer.path)
    assert run.left_overs == (left,)
    assert run.host == (HOST,)


def test_files_that_were_read_and_written(writer: RecordingWriter) -> None:
    """What is written and then moved has its new name; checkpoints are left out, under either name."""
    lines = [
        ("r", "/d/raw"),
        ("w", "/d/cache.part"),
        ("m", "/d/cache.part", "/d/cache"),
        ("w", "/out/c.part"),
        ("m", "/out/c.part", "/out/c.pt"),
        ("m", "/elsewhere/old", "/elsewhere/new"),
        ("v", "overwrite", "/d/raw"),
    ]
    (writer.path / "files.log").write_text("".join("\t".join(line) + "\n" for line in lines))
    save = ["e", "save", 1.0, 0, 0.1, {"path": "/out/c.part"}]
    journal(writer.path, *step(0), save)
    run = read_recording(writer.path)
    assert run.read_files == {"/d/raw"}
    assert run.written_files == {"/d/cache.part", "/d/cache"}


def test_without_a_log_no_file_was_seen(writer: RecordingWriter) -> None:
    """A plain recording watches none."""
    journal(writer.path, *step(0))
    run = read_recording(writer.path)
    assert (run.read_files, run.written_files) == (frozenset(), frozenset())


def test_a_process_that_was_killed(writer: RecordingWriter) -> None:
    """Without trailers the run is incomplete, and the agent's time is that between the steps."""
    path = journal(writer.path, *step(0), *step(1), *step(2), ["n", "gpu", "none here"])
    path.write_text(path.read_text() + '["m",[[3')
    run = read_recording(writer.path)
    (rank,) = run.ranks
    assert (run.meta.complete, run.meta.ended_by, rank.complete) == (False, None, False)
    assert len(rank.steps) == 3
    assert rank.hook_s == pytest.approx(0.001)
    assert rank.not_measured == {"gpu": "none here"}


def test_one_record_a_rank(writer: RecordingWriter) -> None:
    """Of several processes with one rank the one that trained longest counts; others are no ranks."""
    journal(writer.path, *step(0), rank=1, pid=5)
    journal(writer.path, *step(0), *step(1), rank=0, pid=6)
    journal(writer.path, *step(0), *step(1), *step(2), rank=0, pid=7)
    journal(writer.path, rank=2, pid=8)
    (writer.path / "rank00003-9.jsonl").write_text("")
    (writer.path / "rank00004-9.jsonl").write_text('{"kind": "something else"}\n')
    ranks = read_recording(writer.path).ranks
    assert [(rank.rank, rank.pid, len(rank.steps)) for rank in ranks] == [(0, 7, 3), (1, 5, 1)]


def test_stacks(writer: RecordingWriter) -> None:
    """Seconds go to the innermost line of the user's own; what the probe held is not the run's."""
    frames = [
        {"name": "main", "file": "/home/u/train.py", "line": 3},
        {"name": "step", "file": "/home/u/.venv/lib/python3.11/site-packages/torch/optim/sgd.py", "line": 9},
        {"name": f"Agent.{HOLD}", "file": "/x/ckpt_doctor/agent/core.py", "line": 7},
        {"name": "work", "file": "/home/u/data.py", "line": 5},
        {"name": "native", "file": None, "line": None},
    ]
    main = {
        "name": 'Process 1 Thread 2 "MainThread"',
        "samples": [[0, 1], [0, 3], [0, 1, 2], [4]],
        "weights": [0.1, 0.2, 5.0, 0.4],
    }
    other = {"name": "Thread 3", "samples": [[3]], "weights": [9.0]}
    profile = {"shared": {"frames": frames}, "profiles": [main, other]}
    journal(writer.path, *step(0))
    (writer.path / "stacks-rank00000.speedscope.json").write_text(json.dumps(profile))
    (stacks,) = read_recording(writer.path).stacks
    assert stacks.sampled_s == pytest.approx(0.7)
    assert stacks.lines == {
        SourceLine("/home/u/train.py", 3, "main"): pytest.approx(0.1),
        SourceLine("/home/u/data.py", 5, "work"): pytest.approx(0.2),
    }
    assert {tuple(frame.function for frame in stack): s for stack, s in stacks.stacks.items()} == {
        ("main", "step"): pytest.approx(0.1),
        ("main", "work"): pytest.approx(0.2),
        ("native",): pytest.approx(0.4),
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no recording"),
        ("", "no recording"),
        ("[1]", "no recording"),
        ('{"kind": "something"}', "no recording"),
        ('{"kind": "ckpt-doctor recording", "version": 99}', "version 99"),
        ('{"kind": "ckpt-doctor recording", "version": 2}', "no optimizer step"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: str | None, words: str) -> None:
    """A folder that is none, or that nobody here can read, is refused in one line that says what to do."""
    if content is not None:
        (tmp_path / "recording.json").write_text(content)
    with pytest.raises(RecordingError, match=words) as refused:
        read_recording(tmp_path)
    assert "\n" not in str(refused.value)
    assert str(tmp_path) in str(refused.value)
    assert refused.value.hint


def test_is_recording(writer: RecordingWriter, tmp_path: Path) -> None:
    """A recording is known by its header."""
    assert is_recording(writer.path)
    assert not is_recording(tmp_path)
    assert not is_recording(tmp_path / "missing")


@pytest.fixture(scope="module")
def real(record: Record, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a real recording."""
    folder = tmp_path_factory.mktemp("real") / "recording"
    shutil.copytree(record(TRAIN).folder, folder)
    return folder


NAMES = ("rank", "recording", "trailer", "samples")


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), at=st.floats(min_value=0, max_value=1))
def test_a_file_that_is_cut_short_anywhere(real: Path, name: str, at: float) -> None:
    """Every cut leaves a recording that is read up to its last whole line, or refused."""
    (path,) = real.glob(f"{name}*.json*")
    whole = path.read_bytes()
    complete = read_recording(real)
    cut = int(at * len(whole))
    try:
        path.write_bytes(whole[:cut])
        run = read_recording(real)
    except RecordingError:
        assert name in ("rank", "recording")
    else:
        steps = run.ranks[0].steps
        assert steps.t_end_s == complete.ranks[0].steps.t_end_s[: len(steps)]
        assert run.ranks[0].complete == (name != "rank" or cut >= len(whole) - 1)
        assert run.meta.complete == (name != "trailer" or cut == len(whole))
    finally:
        path.write_bytes(whole)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(NAMES),
    at=st.floats(min_value=0, max_value=1, exclude_max=True),
    byte=st.binary(min_size=1, max_size=3),
)
def test_a_file_that_is_damaged_anywhere(real: Path, name: str, at: float, byte: bytes) -> None:
    """Other bytes in any place are read or refused, and are no crash."""
    (path,) = real.glob(f"{name}*.json*")
    whole = path.read_bytes()
    start = int(at * len(whole))
    try:
        path.write_bytes(whole[:start] + byte + whole[start + len(byte) :])
        with contextlib.suppress(RecordingError):
            assert read_recording(real).ranks
    finally:
        path.write_bytes(whole)
