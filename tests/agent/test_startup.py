"""The agent gets into a process without changing what it does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.probe.arm import with_agent
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.readers.recordings import read_recording
from tests.conftest import Record
from tests.recorded import MODEL, TRAIN, environment, run_alone, run_inside


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--workers", "2", "--context", "fork"),
        pytest.param(("--workers", "2", "--context", "spawn"), marks=pytest.mark.long),
    ],
    ids=["no workers", "fork", "spawn"],
)
def test_the_same_numbers_with_and_without(
    tmp_path: Path, record: Record, arguments: tuple[str, ...]
) -> None:
    """Losses to the last digit, the random streams afterwards, and all output are those of a run alone."""
    (tmp_path / "train.py").write_text(TRAIN)
    alone = run_alone(tmp_path, "train.py", *arguments)
    recorded = record(TRAIN, *arguments)
    assert len(alone.stdout.splitlines()) == 15
    assert recorded.process.stdout == alone.stdout
    assert recorded.process.stderr == alone.stderr
    assert (recorded.process.returncode, alone.returncode) == (0, 0)
    assert len(recorded.steps) == 14


def test_spawned_workers_leave_no_trace(record: Record) -> None:
    """Processes that import torch without training have no journal, and are no rank."""
    recorded = record(TRAIN, "--workers", "1", "--context", "spawn", "--steps", "3")
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert len(list(recorded.folder.glob("rank*.jsonl"))) == 1
    assert len(recorded.steps) == 3


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("raise SystemExit(7)", 7),
        ("raise ValueError('mine')", 1),
        ("import os; os._exit(9)", 9),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
    ],
    ids=["7", "exception", "_exit", "SIGTERM"],
)
def test_the_exit_code_is_the_scripts_own(tmp_path: Path, ending: str, code: int) -> None:
    """However the script ends, its code and traceback are as without the agent."""
    source = "print('said')\n" + ending
    (tmp_path / "train.py").write_text(source)
    alone = run_alone(tmp_path, "train.py")
    inside = run_inside(tmp_path, "train.py", options=AgentOptions(str(tmp_path / "rec")))
    assert inside.returncode == alone.returncode == code
    assert (inside.stdout, inside.stderr) == (alone.stdout, alone.stderr)


def test_nothing_is_left_in_a_process_without_torch(tmp_path: Path) -> None:
    """Without torch there is no journal, no control file, no output, and nothing heavy is imported."""
    (tmp_path / "train.py").write_text(
        "import sys, atexit\n"
        "print(sorted(name for name in sys.modules if name.startswith('ckpt_doctor')))\n"
        "print('torch' in sys.modules, 'json' in sys.modules)\n"
    )
    inside = run_inside(tmp_path, "train.py", options=AgentOptions(str(tmp_path / "rec")))
    ours, others = inside.stdout.splitlines()
    assert eval(ours) == [
        "ckpt_doctor", "ckpt_doctor.agent", "ckpt_doctor.agent.options", "ckpt_doctor.agent.startup"
    ]  # fmt: skip
    assert others == "False True"
    assert inside.stderr == ""
    assert list((tmp_path / "rec").iterdir()) == []


def test_a_process_that_imports_torch_and_never_trains(tmp_path: Path) -> None:
    """Inference alone leaves no file."""
    (tmp_path / "train.py").write_text("import torch\nprint(torch.ones(2).sum().item())\n")
    inside = run_inside(tmp_path, "train.py", options=AgentOptions(str(tmp_path / "rec")))
    assert (inside.stdout, inside.stderr) == ("2.0\n", "")
    assert list((tmp_path / "rec").iterdir()) == []


def test_a_library_that_asks_whether_torch_is_there(tmp_path: Path) -> None:
    """Looking for torch without importing it does not use up the agent's one chance."""
    source = (
        "import importlib.util\n"
        "assert importlib.util.find_spec('torch') is not None\n"
        "assert importlib.util.find_spec('torch').origin.endswith('__init__.py')\n"
        + MODEL
        + "step()\nstep()\n"
        "assert type(torch.__loader__).__name__ == 'SourceFileLoader'\n"
        "assert torch.__spec__.loader is torch.__loader__\n"
    )
    (tmp_path / "train.py").write_text(source)
    inside = run_inside(tmp_path, "train.py", options=AgentOptions(str(tmp_path / "rec")))
    assert inside.returncode == 0, inside.stderr
    assert len(list((tmp_path / "rec").glob("rank*.jsonl"))) == 1


def test_an_import_that_fails_is_the_scripts_own_affair(tmp_path: Path) -> None:
    """A module that cannot be found, or fails, raises what it raises without the agent."""
    (tmp_path / "torch.py").write_text("raise RuntimeError('no torch today')\n")
    (tmp_path / "train.py").write_text(
        "import sys\n"
        "for name in ('torch', 'torch'):\n"
        "    try:\n"
        "        __import__(name)\n"
        "    except RuntimeError as error:\n"
        "        print(error)\n"
        "print('torch' in sys.modules)\n"
    )
    inside = run_inside(tmp_path, "train.py", options=AgentOptions(str(tmp_path / "rec")))
    assert inside.stdout == "no torch today\nno torch today\nFalse\n"
    assert inside.stderr == ""


def test_a_library_that_is_other_than_expected_is_not_measured(tmp_path: Path) -> None:
    """Its hook's signals are told to be missing, with the reason; the others and the script go on."""
    package = tmp_path / "torchdata" / "stateful_dataloader"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "stateful_dataloader.py").touch()
    (tmp_path / "train.py").write_text(
        MODEL + "import torchdata.stateful_dataloader.stateful_dataloader\nstep()\nstep()\nprint('trained')\n"
    )
    command = [sys.executable, "-m", "ckpt_doctor", "record", "-o", "rec", "train.py"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), check=True, timeout=60, capture_output=True, text=True
    )
    assert done.stdout == "trained\n"
    (rank,) = read_recording(tmp_path / "rec").ranks
    assert rank.not_measured["loader_snapshot"].startswith("AttributeError: ")
    assert rank.not_measured["snapshots"] == rank.not_measured["loader_snapshot"]
    assert "step_s" not in rank.not_measured


def test_a_module_run_by_name(tmp_path: Path) -> None:
    """``python -m package.module`` is measured like a script."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "train.py").write_text(MODEL + "step()\nstep()\nprint(__name__, __package__)\n")
    RecordingWriter(tmp_path / "rec", ["-m", "package.train"], None, {})
    inside = run_inside(tmp_path, "-m", "package.train", options=AgentOptions(str(tmp_path / "rec")))
    assert inside.stdout == "__main__ package\n"
    (rank,) = read_recording(tmp_path / "rec").ranks
    assert len(rank.steps) == 2


def test_ranks_that_are_started_by_fork(tmp_path: Path) -> None:
    """A process that forks its ranks after importing torch is one record a rank."""
    training = "".join(f"        {line}\n" for line in MODEL.splitlines())
    (tmp_path / "train.py").write_text(
        "import os, torch\n"
        "for rank in (0, 1):\n"
        "    if os.fork() == 0:\n"
        "        os.environ['RANK'] = str(rank)\n"
        f"{training}"
        "        for _ in range(3): step()\n"
        "        raise SystemExit\n"
        "for _ in (0, 1): os.wait()\n"
    )
    command = [sys.executable, "-m", "ckpt_doctor", "record", "-o", "rec", "train.py"]
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True, timeout=60)
    ranks = read_recording(tmp_path / "rec").ranks
    assert [(rank.rank, len(rank.steps), rank.complete) for rank in ranks] == [(0, 3, True), (1, 3, True)]
    for rank in ranks:
        assert all((value or 0) >= 0 for column in rank.steps.counters.values() for value in column)


def test_signals_reach_the_script(tmp_path: Path) -> None:
    """A handler of the script's own runs as it would without the agent."""
    (tmp_path / "train.py").write_text(
        MODEL + "import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
        "step(); step()\nprint('ready', flush=True)\n"
        "while True: step()\n"
    )
    (tmp_path / "rec").mkdir()
    process = subprocess.Popen(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env=with_agent(environment(), AgentOptions(str(tmp_path / "rec"))),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 5
    (journal,) = (tmp_path / "rec").glob("rank*.jsonl")
    assert journal.read_text().splitlines()[-1].startswith('["t","itself"')


def test_the_time_of_imports_is_told(record: Record) -> None:
    """From the interpreter's start until torch is there: a part of the time to the first step."""
    rank = record(TRAIN).rank
    (imports,) = rank.events_of("imports")
    assert imports.duration_s is not None
    assert 0 < imports.duration_s < rank.steps.t_end_s[0] - rank.started_s
