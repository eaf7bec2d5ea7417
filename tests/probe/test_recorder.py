"""A recorded run goes on as it would alone."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError, ScriptError
from ckpt_doctor.probe.recorder import run_recorded
from ckpt_doctor.readers.recordings import read_recording
from tests.conftest import Record
from tests.recorded import TRAIN, environment

RECORD = (
    "import sys; from pathlib import Path; from ckpt_doctor.probe.recorder import run_recorded\n"
    "sys.exit(run_recorded(sys.argv[2:], Path(sys.argv[1])))\n"
)

WAITING = """
import signal, sys, time
def handler(number, frame):
    print("got", number, flush=True)
    sys.exit(4)
for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT):
    signal.signal(number, handler)
print("ready", flush=True)
while True:
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    ("code", "exit_code", "ended_by"),
    [
        ("raise SystemExit(7)", 7, "itself"),
        ("import os; os.kill(os.getpid(), 15)", 143, "signal 15"),
        ("1 / 0", 1, "itself"),
    ],
)
def test_the_exit_code(tmp_path: Path, code: str, exit_code: int, ended_by: str) -> None:
    """The script's own exit code is handed on, 128 + n for signal n, and written down."""
    assert run_recorded([sys.executable, "-c", code], tmp_path / "rec") == exit_code
    trailer = (tmp_path / "rec/trailer.json").read_text()
    assert f'"ended_by": "{ended_by}"' in trailer


def test_a_whole_recording(record: Record) -> None:
    """The recording tells how the run ended, its steps, and samples of its processes and the machine."""
    run = record(TRAIN).run
    assert (run.meta.complete, run.meta.ended_by, run.meta.exit_code, run.meta.arm) == (
        True,
        "itself",
        0,
        None,
    )
    assert run.meta.command[-1].endswith("train.py")
    assert len(run.host) >= 2
    assert run.samples
    assert all(
        before.cpu_s <= after.cpu_s for before, after in zip(run.samples, run.samples[1:], strict=False)
    )
    rank = run.ranks[0]
    assert rank.complete
    assert rank.started_s < rank.steps.t_end_s[0]
    imports = next(rank.events_of("imports"))
    assert imports.step == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    """What a scheduler sends to the recorder reaches the script."""
    process = subprocess.Popen(
        [sys.executable, "-c", RECORD, str(tmp_path / "rec"), sys.executable, "-c", WAITING],
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert (out, process.returncode) == (f"got {int(number)}\n", 4)


def test_the_output_is_not_overwritten(tmp_path: Path) -> None:
    """A folder that holds something is refused before anything runs; an empty one is not."""
    (tmp_path / "rec").mkdir()
    assert run_recorded([sys.executable, "-c", ""], tmp_path / "rec") == 0
    with pytest.raises(InputError, match="not empty"):
        run_recorded([sys.executable, "-c", "open('ran', 'w')"], tmp_path / "rec")


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    """It is told in one line, and the folder can be used for the next attempt."""
    with pytest.raises(ScriptError, match=r"^no-such-command: No such file or directory$"):
        run_recorded(["no-such-command"], tmp_path / "rec")
    assert run_recorded([sys.executable, "-c", ""], tmp_path / "rec") == 0


def test_torchrun(tmp_path: Path) -> None:
    """Two ranks are two records of one recording."""
    pytest.importorskip("torch.distributed")
    (tmp_path / "train.py").write_text(TRAIN)
    script = str(tmp_path / "train.py")
    launcher = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        script,
    ]
    command = [sys.executable, "-c", RECORD, str(tmp_path / "rec"), *launcher]
    subprocess.run(command, env=environment(), check=True, timeout=120)
    ranks = read_recording(tmp_path / "rec").ranks
    assert [(rank.rank, len(rank.steps), rank.complete) for rank in ranks] == [(0, 14, True), (1, 14, True)]
