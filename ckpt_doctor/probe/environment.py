"""What this machine lets the doctor see, found out by trying rather than by reading settings."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from statistics import median

import psutil

from ckpt_doctor import units
from ckpt_doctor.probe.residency import resident_pages

_TRY_S = 20.0
"""Longest time that one attempt may take."""
_LOOKS = 20
_SLOW_LOOK_S = 0.005
"""A run of a dozen processes that is looked at ten times a second then takes more than half of a core."""
_NO_GPU_FIX = "For training on a GPU, run this where it trains; a container needs --gpus all."
_CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
_CAP_SYS_PTRACE = 19
"""Its bit among the capabilities, see capabilities(7)."""


@dataclass(frozen=True)
class Ability:
    """One thing that the doctor can or cannot see here."""

    name: str
    available: bool
    detail: str
    """What was found, in a few words."""
    fix: str | None = None
    """How to make it available, where it is not."""


def survey() -> tuple[Ability, ...]:
    """Try everything that a probe uses, in the order in which it matters."""
    attempts: tuple[Callable[[], Ability], ...] = (
        _system,
        _torch,
        _stacks,
        _proc_speed,
        _physical_reads,
        _run_queue,
        _pressure,
        _page_cache,
        _cores,
        _memory,
        _gpu,
    )
    return tuple(attempt() for attempt in attempts)


def _system() -> Ability:
    detail = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    if sys.platform == "linux":
        return Ability("system", True, detail)
    return Ability("system", False, detail, "Here `inspect` and `compare` work in full; `probe` wants Linux.")


def _torch() -> Ability:
    try:
        return Ability("torch", True, metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return Ability("torch", False, "not installed for this Python", "pip install torch")


def _stacks() -> Ability:
    program = shutil.which("py-spy", path=sysconfig.get_path("scripts")) or shutil.which("py-spy")
    if program is None:
        return Ability("stacks", False, "py-spy is not installed", "pip install py-spy")
    # The script under measurement is py-spy's sibling, not its child; so is the process tried here.
    # The interpreter itself, not a launcher that a virtual environment may put before it.
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as sleeper:
        try:
            assert sleeper.stdout is not None
            sleeper.stdout.readline()
            seen = subprocess.run(
                [program, "dump", "--nonblocking", "--pid", str(sleeper.pid)],
                capture_output=True,
                text=True,
                timeout=_TRY_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            silence = f"py-spy did not answer within {units.seconds(_TRY_S)}"
            return Ability("stacks", False, silence, "Try again, or probe with --no-stacks.")
        finally:
            sleeper.kill()
    if seen.returncode == 0:
        return Ability("stacks", True, "py-spy reads a process beside it")
    return Ability(
        "stacks",
        False,
        seen.stderr.strip().splitlines()[-1:][0] if seen.stderr.strip() else "py-spy fails",
        _ptrace_fix(),
    )


def _ptrace_fix() -> str:
    scope = _first_line("/proc/sys/kernel/yama/ptrace_scope")
    if scope == "3":
        return "kernel.yama.ptrace_scope is 3: only a boot with another setting changes that."
    if _in_container():
        return (
            "Start the container with --cap-add SYS_PTRACE "
            "(Kubernetes: SYS_PTRACE under securityContext.capabilities.add)."
        )
    if scope in ("1", "2"):
        return "sudo sysctl kernel.yama.ptrace_scope=0 (until the next boot), or run as root."
    return "Run as the same user as the script, or as root."


def _in_container() -> bool:
    """Whether this is a container: it says so itself, or its root may not do what root does elsewhere."""
    if any(Path(mark).exists() for mark in _CONTAINER_MARKS):
        return True
    return sys.platform == "linux" and os.geteuid() == 0 and _has_capability(_CAP_SYS_PTRACE) is False


def _has_capability(bit: int) -> bool | None:
    """Whether this process has a capability, by its bit; None where the kernel does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return None if found is None else bool(int(found[1], 16) >> bit & 1)


def _proc_speed() -> Ability:
    """How long one look at one process takes: the sampler looks at each of a run, ten times a second."""
    if not Path("/proc/self/stat").exists():
        return Ability("speed of /proc", False, "no /proc", "Only Linux has one; elsewhere less is sampled.")
    process = psutil.Process()
    times_s = []
    for _ in range(_LOOKS):
        began_s = time.perf_counter()
        with process.oneshot():
            process.cpu_times()
            process.memory_info()
            process.num_threads()
        times_s.append(time.perf_counter() - began_s)
    look_s = median(times_s)
    detail = f"{units.seconds(look_s)} for a look at a process"
    if look_s < _SLOW_LOOK_S:
        return Ability("speed of /proc", True, detail)
    fix = "A sandbox that makes up /proc by itself (gVisor) is slow: run under runc, or on the host."
    return Ability("speed of /proc", False, detail, fix)


def _physical_reads() -> Ability:
    try:
        counters = psutil.Process().io_counters()
    except psutil.AccessDenied:
        fix = "Run as the user whose script it is, or as root; in a container with --cap-add SYS_PTRACE."
        return Ability("physical reads", False, "/proc/PID/io may not be read", fix)
    except (AttributeError, OSError, psutil.Error) as error:
        return Ability(
            "physical reads", False, f"/proc/PID/io: {error}", "A kernel with CONFIG_TASK_IO_ACCOUNTING."
        )
    return Ability("physical reads", True, f"/proc/PID/io ({units.size(counters.read_bytes)} read so far)")


def _run_queue() -> Ability:
    line = _first_line("/proc/self/schedstat")
    if line is None:
        fix = "A kernel with CONFIG_SCHED_INFO; on other systems there is no such counter."
        return Ability("run-queue delay", False, "no /proc/PID/schedstat", fix)
    return Ability("run-queue delay", True, "/proc/PID/schedstat")


def _pressure() -> Ability:
    if _first_line("/proc/pressure/cpu") is None:
        return Ability("pressure", False, "no /proc/pressure", "Boot the kernel with psi=1.")
    return Ability("pressure", True, "/proc/pressure")


def _page_cache() -> Ability:
    if not hasattr(os, "posix_fadvise"):
        return Ability("page cache", False, "no posix_fadvise", "Only Linux lets the cache be put back.")
    if resident_pages(Path(__file__)) is None:
        return Ability("page cache", False, "mincore tells nothing", "Own the data files, or run as root.")
    return Ability("page cache", True, "seen through mincore, put back through posix_fadvise")


def _cores() -> Ability:
    total = os.cpu_count() or 1
    usable = len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else total
    busy = psutil.cpu_percent(interval=0.2) / 100
    detail = f"{usable} of {total} usable, {units.percent(busy)} busy now"
    if usable >= 2:
        return Ability("cores", True, detail)
    return Ability(
        "cores", False, detail, "One core makes loader workers and the script wait for each other."
    )


def _memory() -> Ability:
    memory = psutil.virtual_memory()
    detail = f"{units.size(memory.available)} of {units.size(memory.total)} free"
    return Ability("memory", True, f"{detail}; both runs must fit, or use --alternate")


def _gpu() -> Ability:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        if Path("/dev/nvidiactl").exists():
            fix = "Start the container with --gpus all and NVIDIA_DRIVER_CAPABILITIES=compute,utility."
            return Ability("NVIDIA GPU", False, "device there, NVML not", fix)
        return Ability("NVIDIA GPU", False, "none; CPU training is measured in full", _NO_GPU_FIX)
    count = ctypes.c_uint(0)
    if nvml.nvmlInit_v2() != 0 or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return Ability("NVIDIA GPU", False, "NVML does not start", "Does `nvidia-smi` work here?")
    nvml.nvmlShutdown()
    detail = f"{count.value} through NVML"
    return Ability("NVIDIA GPU", count.value > 0, detail, None if count.value else _NO_GPU_FIX)


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").partition("\n")[0].strip()
    except OSError:
        return None
