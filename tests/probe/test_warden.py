"""Nothing of a run outlives its warden, and the warden does not outlive its doctor."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from ckpt_doctor.probe import warden

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="child subreapers are Linux's")

RUNAWAYS = """
import os, signal, subprocess, sys, time
def stay(name):
    open(os.path.join(sys.argv[1], f"{name}-{os.getpid()}"), "w").close()
    while True:
        time.sleep(0.01)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        stay("daemon")
    os._exit(0)
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stay("deaf")
child = os.fork()
if child == 0:
    stay("stopped")
time.sleep(0.2)
os.kill(child, signal.SIGSTOP)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
stay("main")
"""
NAMES = {"daemon", "deaf", "stopped", "main"}

DOCTOR = """
import subprocess, sys, os, time
process = subprocess.Popen([sys.executable, "-I", "-S", sys.argv[1], str(os.getpid()), *sys.argv[2:]])
time.sleep(1000)
"""


def wait_for(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


class Runaways:
    """Processes that try to stay, under a warden."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = folder / "status.json"
        self.command = [str(self.status), sys.executable, "-c", RUNAWAYS, str(folder)]
        self._started: list[subprocess.Popen[bytes]] = []

    def under_a_warden(self) -> subprocess.Popen[bytes]:
        """Start them with this process as the doctor."""
        words = [sys.executable, "-I", "-S", warden.__file__, str(os.getpid()), *self.command]
        return self._start(words)

    def under_a_doctor(self) -> subprocess.Popen[bytes]:
        """Start them with another process as the doctor."""
        return self._start([sys.executable, "-c", DOCTOR, warden.__file__, *self.command])

    def pids(self) -> list[int]:
        """All of them that live, the warden as well."""
        found = []
        for process in psutil.process_iter(["cmdline", "status"]):
            words = process.info["cmdline"] or []
            if str(self.folder) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        return found

    def ready(self) -> None:
        """Wait until all of them are there."""
        wait_for(lambda: {path.name.split("-")[0] for path in self.folder.glob("*-*")} >= NAMES)
        (stopped,) = self.folder.glob("stopped-*")
        pid = int(stopped.name.split("-")[1])
        wait_for(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
        assert len(self.pids()) >= 5

    def gone(self) -> None:
        """Wait until none of them is there."""
        wait_for(lambda: not self.pids())

    def clean_up(self) -> None:
        """End what is left, should a test have failed."""
        for process in self._started:
            process.kill()
            process.wait()
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)

    def _start(self, words: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(words)
        self._started.append(process)
        return process


@pytest.fixture
def runaways(tmp_path: Path) -> Iterator[Runaways]:
    """Processes that daemonise themselves, ignore signals, or are stopped."""
    some = Runaways(tmp_path)
    yield some
    some.clean_up()


def test_when_the_doctor_asks_for_the_end(runaways: Runaways, nothing_left: None) -> None:
    """On SIGTERM the warden kills daemons, the deaf and the stopped, and then ends."""
    process = runaways.under_a_warden()
    runaways.ready()
    process.terminate()
    assert process.wait(30) == 0
    assert runaways.pids() == []
    assert json.loads(runaways.status.read_text()) == {"exit_code": None, "error": None}


def test_when_the_doctor_is_killed(runaways: Runaways) -> None:
    """A doctor that dies by SIGKILL cannot ask: the warden notices, and all of them end."""
    process = runaways.under_a_doctor()
    runaways.ready()
    process.kill()
    process.wait()
    runaways.gone()


def test_when_the_run_ends_by_itself(tmp_path: Path, nothing_left: None) -> None:
    """What a run leaves behind in the background ends with it, and its exit code is written down."""
    code = "import subprocess, sys; subprocess.Popen(['sleep', '1000'], start_new_session=True); sys.exit(7)"
    words = [str(os.getpid()), str(tmp_path / "status.json"), sys.executable, "-c", code]
    assert subprocess.run([sys.executable, "-I", "-S", warden.__file__, *words], check=False).returncode == 0
    assert json.loads((tmp_path / "status.json").read_text()) == {"exit_code": 7, "error": None}


def test_a_run_that_dies_by_a_signal(tmp_path: Path) -> None:
    """The number of the signal is the negative exit code."""
    code = "import os; os.kill(os.getpid(), 9)"
    words = [str(os.getpid()), str(tmp_path / "status.json"), sys.executable, "-c", code]
    subprocess.run([sys.executable, "-I", "-S", warden.__file__, *words], check=True)
    assert json.loads((tmp_path / "status.json").read_text())["exit_code"] == -9


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    """A command that cannot be started is told as an error."""
    words = [str(os.getpid()), str(tmp_path / "status.json"), "no-such-command"]
    assert subprocess.run([sys.executable, "-I", "-S", warden.__file__, *words], check=False).returncode == 2
    status = json.loads((tmp_path / "status.json").read_text())
    assert status == {"exit_code": None, "error": "no-such-command: No such file or directory"}


def test_a_doctor_that_was_gone_before(tmp_path: Path) -> None:
    """A warden that starts too late to see its doctor ends its run at once."""
    code = "import time; time.sleep(1000)"
    words = ["1", str(tmp_path / "status.json"), sys.executable, "-c", code]
    result = subprocess.run([sys.executable, "-I", "-S", warden.__file__, *words], check=False, timeout=30)
    assert result.returncode == 0


def test_it_sleeps_while_the_run_goes_on(runaways: Runaways) -> None:
    """It does not wake by itself: that would give the run's session more of a busy core than its due."""
    process = psutil.Process(runaways.under_a_warden().pid)
    runaways.ready()
    wakings = process.num_ctx_switches().voluntary
    time.sleep(0.5)
    # An orphan that it inherits in the meantime wakes it once.
    assert process.num_ctx_switches().voluntary <= wakings + 3
