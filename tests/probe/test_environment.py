"""What this machine lets the doctor see is found out by trying."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import psutil
import pytest

from ckpt_doctor.probe import environment


def test_the_survey_leaves_nothing_behind() -> None:
    """Every ability is told in words, each no on Linux has a way out, and no process stays."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    abilities = environment.survey()
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert len({ability.name for ability in abilities}) == len(abilities)
    assert all(ability.detail for ability in abilities)
    assert all(bool(ability.fix) is not ability.available for ability in abilities)


def test_the_survey_does_not_import_torch() -> None:
    """Torch's version is read from its metadata."""
    script = """
import sys
from ckpt_doctor.probe.environment import survey
survey()
print("torch" in sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"


def test_py_spy_that_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A py-spy that may not look is a no, with its own last words and a fix."""
    program = tmp_path / "py-spy"
    program.write_text("#!/bin/sh\necho 'Error: Permission denied' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    stacks = next(ability for ability in environment.survey() if ability.name == "stacks")
    assert not stacks.available
    assert stacks.detail == "Error: Permission denied"
    assert stacks.fix


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel files that do not exist are a no with a fix."""
    monkeypatch.setattr(environment, "_first_line", lambda path: None)
    abilities = {ability.name: ability for ability in environment.survey()}
    for name in ("run-queue delay", "pressure"):
        assert not abilities[name].available
        assert abilities[name].fix


@pytest.mark.parametrize(
    ("scope", "mark", "may_trace", "words"),
    [
        ("1", None, True, "sysctl kernel.yama.ptrace_scope=0"),
        ("2", None, None, "sysctl kernel.yama.ptrace_scope=0"),
        ("3", "/", True, "only a boot"),
        ("1", "/", True, "--cap-add SYS_PTRACE"),
        ("0", None, False, "--cap-add SYS_PTRACE"),
        ("0", None, True, "as the same user"),
        (None, None, None, "as the same user"),
    ],
)
def test_what_forbids_to_look_at_stacks(
    monkeypatch: pytest.MonkeyPatch, scope: str | None, mark: str | None, may_trace: bool | None, words: str
) -> None:
    """The fix is that of the place: a kernel setting, a container, or the wrong user."""
    monkeypatch.setattr(environment, "_first_line", lambda path: scope)
    monkeypatch.setattr(environment, "_CONTAINER_MARKS", () if mark is None else (mark,))
    monkeypatch.setattr(environment, "_has_capability", lambda bit: may_trace)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert words in environment._ptrace_fix()


def test_a_capability_is_read_from_the_kernel() -> None:
    """A bit that the kernel never set is no capability; the mask of this process decides."""
    mask = next(line for line in Path("/proc/self/status").read_text().splitlines() if "CapEff" in line)
    bits = int(mask.split()[1], 16)
    assert [environment._has_capability(bit) for bit in range(64)] == [bool(bits >> n & 1) for n in range(64)]


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU what to do for GPU training is told."""

    def absent(name: str) -> NoReturn:
        raise OSError(f"{name}: no such library")

    monkeypatch.setattr(ctypes, "CDLL", absent)
    gpu = environment._gpu()
    assert not gpu.available
    assert "--gpus all" in (gpu.fix or "")


def test_a_slow_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """A /proc that takes long to answer is a limit with its time and a fix."""
    assert environment._proc_speed().detail.endswith("s for a look at a process")
    monkeypatch.setattr(environment, "_SLOW_LOOK_S", 0.0)
    slow = environment._proc_speed()
    assert not slow.available
    assert "gVisor" in (slow.fix or "")


def test_bytes_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where /proc/PID/io is forbidden the fix is a permission, not another kernel."""

    def forbidden(process: psutil.Process) -> NoReturn:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "io_counters", forbidden)
    reads = environment._physical_reads()
    assert not reads.available
    assert "SYS_PTRACE" in (reads.fix or "")
