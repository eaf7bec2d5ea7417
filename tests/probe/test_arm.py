"""One run under the probe's control."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.errors import ScriptError
from ckpt_doctor.probe.arm import INJECT, TAIL_LINES, Arm, pause_s, with_agent
from ckpt_doctor.readers.recordings import read_recording
from tests.recorded import MODEL, environment

Start = Callable[..., Arm]


@pytest.fixture
def start(tmp_path: Path, nothing_left: None) -> Iterator[Start]:
    """Start a script as an arm; it is ended in the end."""
    arms: list[Arm] = []

    def call(source: str, **options: object) -> Arm:
        (tmp_path / "train.py").write_text(source)
        folder = tmp_path / f"arm{len(arms)}"
        agent = AgentOptions(str(folder), watch_files=True, **options)  # type: ignore[arg-type]
        command = (sys.executable, str(tmp_path / "train.py"))
        arm = Arm("before", command, folder, agent, environment(), {})
        arms.append(arm)
        arm.start()
        return arm

    yield call
    for arm in arms:
        arm.end()


def test_with_agent() -> None:
    """The agent comes before what was on the module path, and the rest of the environment stays."""
    options = AgentOptions("r")
    found = with_agent({"PYTHONPATH": "a", "X": "1"}, options)
    assert found["PYTHONPATH"] == os.pathsep.join((str(INJECT), "a"))
    assert found["X"] == "1"
    assert with_agent({}, options)["PYTHONPATH"] == str(INJECT)
    assert (INJECT / "sitecustomize.py").is_file()


@given(st.integers(1, 200), st.floats(1e-4, 3.0))
def test_looks_at_a_run_that_has_its_turn(steps: int, step_s: float) -> None:
    """They are few, whatever steps take, and its end is seen within a millisecond or a 50th of a step."""
    end_s, spent_s, looks = steps * step_s, 0.0, 0
    while spent_s < end_s:
        spent_s += pause_s(steps, steps - int(spent_s / step_s), spent_s)
        looks += 1
    assert spent_s - end_s < max(0.001, step_s / 50) + 1e-9
    assert looks <= 300 + end_s / 0.05


@given(st.integers(1, 200), st.integers(0, 200), st.floats(0.0, 3.0))
def test_looks_at_a_run_that_a_process_joins(steps: int, more: int, spent_s: float) -> None:
    """One that has taken fewer steps has more to come than the turn had: it is looked at all the same."""
    assert 0.001 <= pause_s(steps, steps + more, spent_s) <= 0.05


def test_a_run_that_ends_by_itself(start: Start) -> None:
    """Its exit code and the last lines of its errors are told, or of its output where there are none."""
    arm = start("import sys\nfor i in range(50): print(i)\nsys.exit(3)\n")
    assert arm.wait_until(lambda: arm.ended() is not None, 30)
    ended = arm.ended()
    assert ended is not None
    assert (ended.exit_code, ended.error) == (3, None)
    assert arm.tail() == [str(i) for i in range(50)][-TAIL_LINES:]
    assert arm.steps() == 0
    assert not arm.held()
    other = start("import sys\nprint('out')\nprint('progress\\rerror\\n\\n', file=sys.stderr)\n")
    assert other.wait_until(lambda: other.ended() is not None, 30)
    assert other.tail() == ["progress", "error"]


def test_waiting_in_vain(start: Start) -> None:
    """Waiting ends when the run does, and when the time is up."""
    arm = start("pass\n")
    began = time.monotonic()
    assert not arm.wait_until(lambda: False, 60)
    assert time.monotonic() - began < 50
    arm = start("while True: pass\n")
    assert not arm.wait_until(lambda: False, 0.1)


def test_a_violation_ends_the_waiting(start: Start, tmp_path: Path) -> None:
    """A script that was stopped before it destroyed a file is told as an error, at once."""
    (tmp_path / "mine").write_text("mine")
    time.sleep(0.05)
    arm = start(f"import os\nos.remove({str(tmp_path / 'mine')!r})\n", protect_since=time.time())
    with pytest.raises(ScriptError, match="about to delete"):
        arm.wait_until(lambda: False, 60)
    assert (tmp_path / "mine").read_text() == "mine"


def test_turns(start: Start) -> None:
    """A run goes on for exactly so many steps, and stands still between them; then its recording is whole."""
    arm = start(MODEL + "while True: step()\n", hold_at=5)
    assert arm.wait_until(arm.held, 60)
    assert arm.steps() == 5
    ((rank, pid),) = arm.training_processes()
    assert rank == 0
    arm.halt_alone()
    assert arm.wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, 10)
    turns = [arm.advance(7, "interleaved"), arm.advance(1, "interleaved")]
    assert arm.steps() == 13
    assert arm.wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, 10)
    first, second = turns
    assert first is not None
    assert second is not None
    assert first.t_start_s < first.t_end_s <= second.t_start_s < second.t_end_s
    arm.end(origin_step=2)
    assert arm.steps() == 13
    assert not psutil.pid_exists(pid)
    names = {path.name for path in arm.folder.iterdir()}
    assert names >= {"recording.json", "trailer.json", "turns.jsonl", "samples.jsonl", "stdout.log"}
    assert not any(name.startswith(("control-", "status")) for name in names)


def test_a_held_run_can_be_read(start: Start) -> None:
    """Its recording is whole before the run has ended, and again when it has gone on and ended."""
    arm = start(MODEL + "while True: step()\n", hold_at=5)
    assert arm.wait_until(arm.held, 60)
    arm.halt_alone()
    arm.settle(origin_step=2)
    assert arm.is_alive
    held = read_recording(arm.folder)
    assert (held.meta.complete, held.meta.origin_step, len(held.ranks[0].steps)) == (True, 2, 5)
    arm.advance(3, "confirm-DAT204")
    arm.end(origin_step=2)
    assert not arm.is_alive
    ended = read_recording(arm.folder)
    assert [turn.phase for turn in ended.turns] == ["alone", "confirm-DAT204"]
    assert len(ended.ranks[0].steps) == 8


def test_a_run_that_ends_within_its_turn(start: Start) -> None:
    """A turn that is not finished is none."""
    arm = start(MODEL + "for _ in range(8): step()\n", hold_at=5)
    assert arm.wait_until(arm.held, 60)
    assert arm.advance(20, "interleaved") is None
    ended = arm.ended()
    assert ended is not None
    assert ended.exit_code == 0
    assert arm.steps() == 8
