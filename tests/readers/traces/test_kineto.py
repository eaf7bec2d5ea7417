"""Kineto traces become runs: small ones made by hand, and real ones from GPUs."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckpt_doctor.errors import InputError
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.run import RankRecord, RunRecord
from ckpt_doctor.readers.runs import read_runs
from tests.structure.source import ROOT

REAL = ROOT.parent / "shared" / "traces"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the real GPU traces are not here")

Json = dict[str, object]


def step_events(
    number: int, start: float, *, pid: int = 7, data: float = 100, compiled: bool = False
) -> list[Json]:
    """One step of 1 ms and more, in microseconds: data wait, an operator, backward and optimizer."""

    def event(name: str, ts: float, dur: float, cat: str = "cpu_op") -> Json:
        return {"ph": "X", "cat": cat, "name": name, "ts": start + ts, "dur": dur, "pid": pid, "tid": pid}

    events = [
        event(f"ProfilerStep#{number}", 0, data + 1000, "user_annotation"),
        event("enumerate(DataLoader)#_X.__next__", 0, data, "user_annotation"),
        event("aten::mm", data + 10, 200),
        event("autograd::engine::evaluate_function: Mm", data + 300, 400),
        event("Optimizer.step#AdamW.step", data + 800, 150, "user_annotation"),
    ]
    return events + ([event("_compile.compile_inner (dynamo_timed)", data + 20, 100)] if compiled else [])


def write(
    path: Path,
    *,
    steps: int = 8,
    first: int = 0,
    start: float = 1e6,
    header: Mapping[str, object] = {},
    **each: object,
) -> Path:
    """A trace of some steps, one behind the other."""
    events = []
    for k in range(steps):
        events += step_events(first + k, start + 2000 * k, **each)  # type: ignore[arg-type]
    text = json.dumps({"schemaVersion": 1, **(header or {}), "traceEvents": events})
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def run_of(path: Path) -> RunRecord:
    """The run in a trace."""
    runs = read_runs(str(path), str(path))
    assert runs is not None
    return runs[1]


def rank_of(path: Path) -> RankRecord:
    """The only rank in a trace."""
    (rank,) = run_of(path).ranks
    return rank


def test_a_trace(tmp_path: Path) -> None:
    """Plain or compressed, whatever its name, it becomes a run; what it cannot tell is said."""
    for name in ("a.json", "a.json.gz", "anything"):
        run = run_of(write(tmp_path / name))
        (rank,) = run.ranks
        assert run.meta.kind == "Kineto trace"
        assert len(rank.steps) == 8
        assert [rank.steps.step_s(i) for i in range(8)] == pytest.approx([1.1e-3] * 8)
        assert rank.steps.parts["data_wait"] == pytest.approx([1e-4] * 8)
        assert rank.steps.parts["backward"] == pytest.approx([4e-4] * 8)
        assert not rank.sees_start
        missing = rank.not_measured.keys()
        assert {RECORDING, "worker_start", "elements", "save", "physical_read_bytes"} <= missing
        assert not {"parts", "compile", "batches"} & missing
        assert any("torch.profiler" in note for note in run.notes)


def test_settings(tmp_path: Path) -> None:
    """Optimizers, compiled code and the number of ranks are told under the agent's names."""
    header = {"distributedInfo": {"rank": 3, "world_size": 8}}
    rank = rank_of(write(tmp_path / "a.json", header=header))
    assert rank.rank == 3
    values = rank.fingerprints[0].values
    assert values["optimizer.0.class"] == "AdamW"
    assert values["env.WORLD_SIZE"] == "8"
    assert values["compiled.frames"] == 0
    assert "machine.gpu" not in values


def test_steps_that_compile_at_the_beginning(tmp_path: Path) -> None:
    """They are left out, as every process compiles once; compiling in every step is kept."""
    once = write(tmp_path / "once.json", steps=2, compiled=True)
    events = json.loads(once.read_text())["traceEvents"]
    for k in range(8):
        events += step_events(2 + k, 1e6 + 2000 * (2 + k))
    once.write_text(json.dumps({"traceEvents": events}))
    run = run_of(once)
    assert len(run.ranks[0].steps) == 8
    assert list(run.ranks[0].events_of("compile")) == []
    assert any("2 steps at the beginning" in note for note in run.notes)
    always = rank_of(write(tmp_path / "always.json", compiled=True))
    assert [event.step for event in always.events_of("compile")] == list(range(8))


def test_a_folder_of_ranks(tmp_path: Path) -> None:
    """One trace a rank: the rank stands in the trace, or in the file's name."""
    write(tmp_path / "host_1.pt.trace.json", header={"distributedInfo": {"rank": 1, "world_size": 2}}, pid=8)
    write(tmp_path / "rank0.json.gz", pid=9)
    (tmp_path / "notes.txt").write_text("nothing")
    assert [(rank.rank, rank.pid) for rank in run_of(tmp_path).ranks] == [(0, 9), (1, 8)]


def test_cycles_of_one_rank(tmp_path: Path) -> None:
    """The traces of a repeating schedule are put behind one another, by their times."""
    write(tmp_path / "b.json", start=1e6, first=0)
    write(tmp_path / "a.json", start=9e6, first=40, data=300)
    rank = rank_of(tmp_path)
    assert len(rank.steps) == 16
    assert rank.steps.parts["data_wait"] == pytest.approx([1e-4] * 8 + [3e-4] * 8)
    assert rank.steps.t_start_s[8] - rank.steps.t_start_s[0] == pytest.approx(8.0)


def test_traces_of_two_processes(tmp_path: Path) -> None:
    """Two processes of one rank are two runs: which one is meant has to be said."""
    write(tmp_path / "monday.json", pid=7)
    write(tmp_path / "tuesday.json", pid=8)
    with pytest.raises(InputError, match="several processes of rank 0") as refused:
        run_of(tmp_path)
    assert "monday.json" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"traceEvents": [', "cut short or damaged"),
        (b'{"traceEvents": []}', "nothing in it marks a step"),
        (b'{"schemaVersion": 1, "traceEvents": {}}', "cut short or damaged"),
        (b'[{"ph": "X", "name": "a", "ts": 1, "dur": 1}]', "nothing in it marks a step"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: bytes, words: str) -> None:
    """A damaged trace, or one of something else, is one clear line with the path."""
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as refused:
        run_of(path)
    assert str(path) in refused.value.what
    assert "\n" not in refused.value.what
    assert refused.value.hint


def test_compressed_data_that_are_cut_short(tmp_path: Path) -> None:
    """A copy that was broken off is refused."""
    path = write(tmp_path / "a.json.gz", steps=200)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="cut short"):
        run_of(path)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), byte=st.binary(min_size=1, max_size=3))
def test_damaged_anywhere(tmp_path: Path, at: float, byte: bytes) -> None:
    """Other bytes in any place are read or refused, and are no crash."""
    path = write(tmp_path / "a.json", steps=3)
    data = path.read_bytes()
    start = int(at * len(data))
    path.write_bytes(data[:start] + byte + data[start + len(byte) :])
    try:
        runs = read_runs(str(path), str(path))
    except InputError as error:
        assert "\n" not in error.what  # noqa: PT017 - both outcomes are right
    else:
        assert runs is None or runs[0].ranks


# --- real traces, whose figures were looked up by hand -------------------------------------


@needs_real
def test_an_eager_run_on_an_a100() -> None:
    """Six marks of 75 to 81 ms, with a batch, FusedAdam and no compiled code in each."""
    rank = rank_of(REAL / "a100_eager_rank3.json.gz")
    steps = rank.steps
    assert rank.rank == 3
    assert [round(1e6 * steps.step_s(i)) for i in range(6)] == [75473, 76940, 76212, 76727, 78473, 81120]
    assert [round(1e6 * s) for s in steps.parts["data_wait"]] == [71, 67, 73, 70, 68, 71]
    assert [round(1e6 * s) for s in steps.parts["optimizer"]] == [2770, 2504, 2485, 2419, 2570, 2862]
    for name, value in (
        ("batches", 1),
        ("optimizer_steps", 1),
        ("compiled_regions", 0),
        ("graph_replays", 0),
    ):
        assert steps.counters[name] == (value,) * 6
    values = rank.fingerprints[-1].values
    assert values["machine.gpu"] == "NVIDIA A100-PG509-200"
    assert values["optimizer.0.class"] == "FusedAdam"
    assert values["env.WORLD_SIZE"] == "8"
    assert values["compiled.frames"] == 0


@needs_real
def test_a_compiled_run_on_a_v100() -> None:
    """Six marks, in each one compiled region and two graph launches."""
    rank = rank_of(REAL / "v100_compiled_cudagraph_rank1.json.gz")
    steps = rank.steps
    assert rank.rank == 1
    assert [round(1e6 * steps.step_s(i)) for i in range(6)] == [100298, 122149, 166403, 81971, 107230, 166350]
    assert [round(1e6 * s) for s in steps.parts["data_wait"]] == [102, 81, 85, 118, 103, 81]
    assert [round(1e6 * s) for s in steps.parts["optimizer"]] == [2316, 2370, 2483, 2399, 2393, 2130]
    assert steps.counters["compiled_regions"] == (1,) * 6
    assert steps.counters["graph_replays"] == (2,) * 6
    assert rank.fingerprints[-1].values["machine.gpu"] == "Tesla V100-SXM2-16GB"
    assert not list(rank.events_of("graph_capture"))


@needs_real
def test_many_compiled_regions_on_an_a100() -> None:
    """Five marks, in each seven compiled regions and fourteen graph launches; no loader is marked."""
    rank = rank_of(REAL / "a100_compiled_cudagraph_rank0.json.gz")
    steps = rank.steps
    assert len(steps) == 5
    assert steps.counters["compiled_regions"] == (7,) * 5
    assert steps.counters["graph_replays"] == (14,) * 5
    assert steps.counters["batches"] == (0,) * 5
    assert steps.counters["optimizer_steps"] == (1,) * 5
    assert rank.fingerprints[-1].values["compiled.frames"] == 7
    assert rank.fingerprints[-1].values["machine.gpu"] == "NVIDIA A100-SXM4-80GB"


@needs_real
def test_two_optimizers() -> None:
    """Two steps, in each one of Shampoo and one of an average of the weights."""
    rank = rank_of(REAL / "sampled_shampoo_rank0.json.gz")
    assert len(rank.steps) == 2
    assert rank.steps.counters["optimizer_steps"] == (2, 2)
    assert [round(1e3 * s) for s in rank.steps.parts["optimizer"]] == [204, 213]
    values = rank.fingerprints[-1].values
    assert (values["optimizer.0.class"], values["optimizer.1.class"]) == ("Shampoo", "EMAOptimizer")
    assert values["env.WORLD_SIZE"] == "128"


@needs_real
def test_a_device_of_amd() -> None:
    """One step of 9.3 ms; the mark behind it, of 49 µs, trains nothing."""
    rank = rank_of(REAL / "mi250_rocm.json.gz")
    assert [round(1e6 * rank.steps.step_s(i)) for i in range(len(rank.steps))] == [9288]
    assert rank.steps.counters["optimizer_steps"] == (1,)
    assert rank.fingerprints[-1].values["machine.gpu"] == "AMD Radeon Graphics"


@needs_real
@pytest.mark.parametrize("path", sorted(REAL.glob("*.gz")), ids=lambda path: path.name.partition(".")[0])
def test_real_parts_add_up(path: Path) -> None:
    """In every step of every trace the parts add up to the step, and no device is busier than it can be."""
    steps = rank_of(path).steps
    for i in range(len(steps)):
        parts = [column[i] for column in steps.parts.values()]
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(steps.step_s(i))
        busy, idle = steps.counters["device_busy_s"][i], steps.counters["device_idle_s"][i]
        exposed = steps.counters["exposed_data_wait_s"][i]
        assert busy is not None
        assert idle is not None
        assert exposed is not None
        assert busy >= 0
        assert 0 <= exposed <= idle + 1e-9
        assert busy + idle == pytest.approx(steps.step_s(i))


# --- a gigabyte -----------------------------------------------------------------------------

WATCHED = """
import sys
from ckpt_doctor import doctor
from ckpt_doctor.facts.policy import Policy

told = []
path = sys.argv[1]
report = doctor.compare(path, path, Policy(), progress=lambda message, ratio: told.append(ratio))
peak_kb = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(len(report.comparison.after.rank.steps), peak_kb, len(told), told == sorted(told), told[-1])
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
def test_a_gigabyte(tmp_path: Path) -> None:
    """A trace of 1 GB is read in memory for a small part of it, and tells how far it is."""
    args = {"Input Dims": [[256], [64, 128], [128, 256]], "Call stack": "x" * 200}
    operator = {"ph": "X", "cat": "cpu_op", "name": "aten::addmm", "pid": 7, "tid": 7, "dur": 2, "args": args}
    kernel = {"ph": "X", "cat": "kernel", "name": "gemm" * 20, "pid": 0, "tid": 7, "dur": 3, "args": args}
    # In the order of their starts, as profilers write them.
    many = [{**each, "ts": 5 * k} for k in range(200) for each in (operator, kernel)]
    events = sorted([*step_events(0, 0), *many], key=lambda event: cast("int", event["ts"]))
    pattern = "".join(json.dumps({**event, "ts": "@"}).replace('"@"', "%d") + ",\n" for event in events)
    path = tmp_path / "big.json"
    written = steps = 0
    with path.open("w") as file:
        file.write('{"schemaVersion": 1, "traceEvents": [\n')
        while written < 10**9:
            text = pattern % tuple(10_000 * steps + cast("int", event["ts"]) for event in events)
            written += file.write(text.replace("ProfilerStep#0", f"ProfilerStep#{steps}"))
            steps += 1
        file.write(json.dumps({"ph": "M", "name": "end"}) + "]}\n")
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(path)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found, peak_kb, calls, rising, last = done.stdout.split()
    assert int(found) == steps
    assert int(peak_kb) < 250_000
    assert int(calls) > 500
    assert (rising, last) == ("True", "1.0")
