"""The agent in a process that the probe controls, and that is killed in the end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from ckpt_doctor.agent.control import NEVER, PREFIX, Control
from ckpt_doctor.agent.core import Agent
from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.facts.moments import TAKE
from ckpt_doctor.facts.recording import HOLD
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.probe.arm import with_agent
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.readers.recordings import read_recording
from tests.conftest import Train
from tests.recorded import MODEL, check_parts, environment

HELD_S = 0.3

ENDLESS = (
    MODEL
    + """
steps = 0
while True:
    step()
    steps += 1
    if steps == 10:
        torch.save(model.state_dict(), "model.pt")
        torch.save(optimizer.state_dict(), "optimizer.pt")
"""
)


def wait_for(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.002)


@dataclass
class Held:
    """What a run looked like while it was held for the first, second and third time."""

    at: list[int]
    later: list[int]
    """The same a while later."""
    journal_at_save: str
    exit_code: int
    run: RunRecord


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Held:
    """Hold a run after 3 steps, after 7, and after it saved; let it go on, and kill it."""
    folder = tmp_path_factory.mktemp("held")
    RecordingWriter(folder / "recording", ["train.py"], None, {})
    options = AgentOptions(str(folder / "recording"), hold_at=3, hold_on_save=True)
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS], cwd=folder, env=with_agent(environment(), options)
    )
    at, later = [], []
    try:
        wait_for(lambda: list((folder / "recording").glob(f"{PREFIX}*")))
        (path,) = (folder / "recording").glob(f"{PREFIX}*")
        wait_for(lambda: path.stat().st_size)
        control = Control(path)
        for hold_at, fingerprints in ((7, 1), (NEVER, 1), (NEVER, 1)):
            wait_for(lambda: control.get("held"))
            at.append(control.get("steps"))
            time.sleep(HELD_S)
            later.append(control.get("steps"))
            (journal,) = (folder / "recording").glob("rank*.jsonl")
            text = journal.read_text()
            control.put("fingerprints", fingerprints)
            control.put("hold_at", hold_at)
            wait_for(lambda: not control.get("held") or control.get("steps") > at[-1])
        wait_for(lambda: control.get("steps") > 200)
        time.sleep(0.6)
    finally:
        process.kill()
        code = process.wait()
    return Held(at, later, text, code, read_recording(folder / "recording"))


def test_a_run_is_held_at_exactly_that_step(held: Held) -> None:
    """It waits at the end of the step that was asked for, and takes no other until it may."""
    assert held.at[:2] == held.later[:2] == [3, 7]


def test_a_run_is_held_once_it_has_saved(held: Held) -> None:
    """It waits at the end of the step in which it saved, and the journal tells of all its saves by then."""
    assert held.at[2] == held.later[2] == 11
    assert held.journal_at_save.count('["e","save"') == 2
    saves = held.run.ranks[0].events_of("save")
    assert [event.step for event in saves] == [10, 10]


def test_the_time_held_is_in_no_step(held: Held) -> None:
    """Between the step before a hold and the one after it lies the hold, which is in neither."""
    steps = held.run.ranks[0].steps
    for number in held.at:
        assert steps.t_start_s[number] - steps.t_end_s[number - 1] >= HELD_S * 0.95
    check_parts(steps)
    shortest = min(steps.step_s(number) for number in held.at)
    assert shortest < HELD_S / 2
    gaps = [steps.t_start_s[i] - steps.t_end_s[i - 1] for i in range(1, len(steps)) if i not in held.at]
    assert sorted(gaps)[len(gaps) // 2] < 0.01


def test_stacks_of_a_hold_are_known_by_its_function() -> None:
    """Whoever reads stacks leaves out those within it."""
    assert callable(getattr(Agent, HOLD))


def test_usage_is_read_on_both_sides_of_a_hold(held: Held) -> None:
    """However short the steps are, the last one before a hold and the first one after it have a reading."""
    lines = [json.loads(line) for line in held.journal_at_save.splitlines()[1:]]
    read = {line[1] for line in lines if line[0] == "c" and "minor_faults" in line[2]}
    assert read >= {0, 2, 3, 6, 7, 10}
    assert sum(len(line[1][TAKE]) for line in lines if line[0] == "m") == 11


def test_a_fingerprint_that_is_asked_for(held: Held) -> None:
    """The probe gets one at the end of the next step, besides those that are taken anyway."""
    assert [fingerprint.step for fingerprint in held.run.ranks[0].fingerprints][:4] == [3, 4, 6, 12]


def test_a_killed_run_is_readable(held: Held) -> None:
    """SIGKILL leaves a recording of nearly all steps, which says that it was cut short."""
    assert held.exit_code == -9
    assert not held.run.meta.complete
    (rank,) = held.run.ranks
    assert not rank.complete
    assert len(rank.steps) > 200
    assert rank.hook_s is not None


READERS = (
    MODEL
    + """
import gc
gc.unfreeze()
from ckpt_doctor.agent.core import Agent
(agent,) = (item for item in gc.get_objects() if type(item) is Agent)
answers = iter([{"read": 3}, {"read": 4}, None])
agent.at_step_end(lambda held: next(answers))
agent.count_from_zero("still", "moved")
agent.count("moved", 0.5)
step(); step()
agent.count("moved")
step(); step()
"""
)


def test_readers_are_asked_until_they_answer_none(train: Train) -> None:
    """Who has answered None is not asked again, and the others' steps go on."""
    assert train(READERS).counts("read") == [3, 4, 0, 0]


def test_the_first_step_tells_zeros_and_later_ones_what_moved(train: Train) -> None:
    """A name that a recording lacks was not measured; one that it has means zero wherever it is silent."""
    recorded = train(READERS)
    (journal,) = recorded.folder.glob(f"rank{recorded.number:05d}-*.jsonl")
    lines = [json.loads(text) for text in journal.read_text().splitlines()[1:]]
    counters = {line[1]: line[2] for line in lines if line[0] == "c"}
    assert [counters.get(step, {}).get("still") for step in range(4)] == [0, None, None, None]
    assert [counters.get(step, {}).get("moved") for step in range(4)] == [0.5, None, 1, None]


def test_where_nothing_can_be_written(train: Train) -> None:
    """Without room for a journal the script runs on, and hears of it in one line."""
    recorded = train(
        "import gc\ngc.unfreeze()\nfrom ckpt_doctor.agent.core import Agent\n"
        "(agent,) = (item for item in gc.get_objects() if type(item) is Agent)\n"
        "agent._options = agent._options._replace(recording='/dev/null/nowhere')\n"
        + MODEL + "step(); step()\nprint('ran')\n"
    )  # fmt: skip
    assert (recorded.process.returncode, recorded.process.stdout) == (0, "ran\n")
    (line,) = recorded.process.stderr.splitlines()
    assert line.startswith("ckpt-doctor: not measuring this process: ")


def test_where_there_is_no_room_left(train: Train) -> None:
    """A disk that becomes full ends the recording, not the script."""
    recorded = train(
        "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        + MODEL + "for _ in range(300):\n    step()\n    torch.save({}, 'x.pt')\nprint('ran')\n"
    )  # fmt: skip
    assert (recorded.process.returncode, recorded.process.stdout) == (0, "ran\n")
    (line,) = recorded.process.stderr.splitlines()
    assert line.startswith("ckpt-doctor: the recording ends here: ")
    assert not recorded.rank.complete


def test_the_agent_can_be_taken_out(train: Train) -> None:
    """What was replaced in torch is put back."""
    recorded = train(
        "import gc\ngc.unfreeze()\nfrom ckpt_doctor.agent.core import Agent\nimport torch\n"
        "from torch.utils import checkpoint\n"
        "(agent,) = (item for item in gc.get_objects() if type(item) is Agent)\n"
        "places = [(torch, 'save'), (torch, 'load'), (torch.autograd, 'backward'),\n"
        "          (torch.utils.data.DataLoader, '_get_iterator'),\n"
        "          (torch.amp.GradScaler, '_maybe_opt_step'), (torch.autocast, '__enter__'),\n"
        "          (checkpoint._checkpoint_hook, '__init__'), (checkpoint.CheckpointFunction, 'apply')]\n"
        "print([hasattr(getattr(*place), '__wrapped__') for place in places])\n"
        "agent.take_out()\n"
        "print([hasattr(getattr(*place), '__wrapped__') for place in places])\n"
    )
    assert recorded.process.stdout.splitlines() == [str([True] * 8), str([False] * 8)]
