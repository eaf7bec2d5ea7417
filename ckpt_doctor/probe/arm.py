"""One run of the user's command under the probe's control: it can be let go for so many steps."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from ckpt_doctor.agent.control import NEVER, PREFIX, Control
from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.errors import ScriptError
from ckpt_doctor.facts.recording import FILES
from ckpt_doctor.facts.run import Turn
from ckpt_doctor.facts.treatment import TRIAL_PREFIX
from ckpt_doctor.probe import tree, warden
from ckpt_doctor.probe.recording import RecordingWriter
from ckpt_doctor.probe.sampler import Sampler
from ckpt_doctor.probe.stacks import StackSampler

INJECT = Path(__file__).resolve().parent.parent / "agent" / "inject"
TAIL_LINES = 12
TURN_TIMEOUT_S = 600.0
"""A turn holds seconds of steps; evaluation between two of them may take longer."""
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.05
"""Between two looks at a run that has its turn."""
RELEASE_TIMEOUT_S = 30.0
"""A held process looks twice a millisecond whether it may go on, but may have to wait for a CPU."""
_SLOW_POLL_S = 0.02
_END_TIMEOUT_S = 10.0


def pause_s(steps: int, left: int, spent_s: float) -> float:
    """How long to leave a run alone that has its turn: half the time up to its last step, then a little.

    Who wakes often takes from a run on a busy machine far more than its own CPU time: beside a busy process a
    core, looks a thousand times a second took half of the steps from a loader with two workers.

    Args:
        steps: Of the whole turn.
        left: Steps that are still to come; more than of the turn, where a process has joined that took fewer.
        spent_s: Seconds since the turn began.
    """
    step_s = spent_s / (max(steps - left, 0) + 1)
    wanted_s = max((left - 1) * step_s / 2, step_s / 50)
    return min(max(wanted_s, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S)


@dataclass(frozen=True)
class Ended:
    """How a run ended by itself."""

    exit_code: int | None
    error: str | None
    """Why the command could not even be started."""

    @property
    def how(self) -> str:
        """In words that follow "ended"."""
        if self.exit_code is None:
            return "without an exit code"
        return f"by signal {-self.exit_code}" if self.exit_code < 0 else f"with exit code {self.exit_code}"


class Arm:
    """One run: started under a warden, sampled from outside, held at step ends, ended as by a crash."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        folder: Path,
        options: AgentOptions,
        environment: Mapping[str, str],
        recorded_options: Mapping[str, object],
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.recording = RecordingWriter(folder, command, name, recorded_options)
        self.folder = folder
        self._options = options
        self._environment = environment
        self._controls: dict[int, Control] = {}
        self._warden: subprocess.Popen[bytes] | None = None
        self._sampler: Sampler | None = None
        self._stacks = StackSampler(folder)
        self._log = _Growing(folder / FILES)
        self._rows: dict[str, list[list[str]]] = {}
        self._journals: dict[Path, _Growing] = {}
        self._checkpoints: dict[str, list[str | None]] = {}
        self._stopped = False
        self._going_on: list[psutil.Process] = []
        """Processes that the last turn began with."""
        self._steps_in_the_end = 0
        self._alone_since_s = 0.0

    @property
    def called(self) -> str:
        """What it is called when people are told about it."""
        if self.name.startswith(TRIAL_PREFIX):
            return "treated"
        return "fresh" if self.name.startswith("before") else "resumed"

    # --- life ------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the command.

        Raises:
            ScriptError: It cannot be started.
        """
        watched = [sys.executable, "-I", "-S", warden.__file__, str(os.getpid()), str(self._status)]
        out_path, errors_path = self.folder / "stdout.log", self.folder / "stderr.log"
        with out_path.open("wb") as out, errors_path.open("wb") as errors:
            self._warden = subprocess.Popen(
                [*watched, *self.command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env=with_agent(self._environment, self._options),
                start_new_session=True,
            )
        self._alone_since_s = time.perf_counter()
        self._sampler = Sampler(self._warden.pid, self.recording)

    def end(self, **outcome: object) -> None:
        """End the run as a crash would, if it still lives, and finish its recording."""
        if self._warden is None:
            return
        ended = self.ended()
        self._stacks.close()
        if self._sampler is not None:
            self._sampler.close()
        self._warden.terminate()
        try:
            self._warden.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._warden.kill()
            self._warden.wait()
        self._steps_in_the_end = self.steps()
        for pid, control in self._controls.items():
            control.close()
            (self.folder / f"{PREFIX}{pid}").unlink(missing_ok=True)
        self._controls.clear()
        self._status.unlink(missing_ok=True)
        self._write_trailer(ended, outcome)
        self._warden = None

    def settle(self, **outcome: object) -> None:
        """Write down how things stand, so that the recording can be read while the run is held.

        No stacks are sampled from now on.
        """
        if self._warden is not None:
            self._stacks.close()
            self._write_trailer(self.ended(), outcome)

    def discard(self) -> None:
        """End the run and remove its recording: another one takes its place."""
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def ended(self) -> Ended | None:
        """How the run ended by itself; None while it lives."""
        if self._warden is None:
            return None
        if self._status.exists():
            status = json.loads(self._status.read_text(encoding="utf-8"))
            return Ended(status["exit_code"], status["error"])
        code = self._warden.poll()
        return None if code is None else Ended(code, "the process that watched over it ended")

    @property
    def is_alive(self) -> bool:
        """Whether the run was started, and neither ended by itself nor was ended."""
        return self._warden is not None and self.ended() is None

    @property
    def _status(self) -> Path:
        return self.folder / "status.json"

    @property
    def root(self) -> int:
        """The process below which all of the run's are."""
        assert self._warden is not None
        return self._warden.pid

    # --- what it did so far ----------------------------------------------------------------

    def steps(self) -> int:
        """Steps that have ended, in the rank that is furthest behind; 0 before the first."""
        controls = self._training()
        return min((control.get("steps") for control in controls), default=self._steps_in_the_end)

    def held(self) -> bool:
        """Whether all training processes wait at a step's end."""
        controls = self._training()
        return bool(controls) and all(control.get("held") for control in controls)

    def any_held(self) -> bool:
        """Whether any training process waits at a step's end."""
        return any(control.get("held") for control in self._training())

    def training_processes(self) -> list[tuple[int, int]]:
        """The processes that train, as (rank, pid)."""
        return sorted((control.get("rank"), control.get("pid")) for control in self._training())

    def lines(self, letter: str) -> list[list[str]]:
        """Paths that the run read (``r``), wrote (``w``), moved (``m``) or nearly destroyed (``v``)."""
        for line in self._log.new_lines():
            first, *paths = line.split("\t")
            self._rows.setdefault(first, []).append(paths)
        return self._rows.get(letter, [])

    def read_files(self) -> set[Path]:
        """The files that the run has read."""
        return {Path(path) for (path,) in self.lines("r")}

    def loaded_paths(self) -> list[str]:
        """Paths of the checkpoint loads that the agent saw."""
        return self._paths_of("load")

    def written_paths(self) -> list[str]:
        """Paths that the run wrote, moved or saved to."""
        opened = [path for row in (*self.lines("w"), *self.lines("m")) for path in row]
        return opened + self._paths_of("save")

    def _paths_of(self, signal: str) -> list[str]:
        for path in self.folder.glob("rank*.jsonl"):
            journal = self._journals.setdefault(path, _Growing(path))
            for line in journal.new_lines():
                if line.startswith(('["e","load"', '["e","save"')):
                    event = json.loads(line)
                    self._checkpoints.setdefault(event[1], []).append(event[5].get("path"))
        return [path for path in self._checkpoints.get(signal, []) if path]

    def tail(self) -> list[str]:
        """The last lines that the run printed to its standard error, or else to its output."""
        for name in ("stderr.log", "stdout.log"):
            with suppress(OSError), (self.folder / name).open("rb") as file:
                file.seek(max(0, os.path.getsize(file.name) - 16_384))
                lines = file.read().decode("utf-8", "replace").replace("\r", "\n").splitlines()
                lines = [line.rstrip() for line in lines if line.strip()]
                if lines:
                    return lines[-TAIL_LINES:]
        return []

    # --- control ---------------------------------------------------------------------------

    def ask_fingerprint(self) -> None:
        """Have every training process describe itself at its next step's end."""
        for control in self._training():
            control.put("fingerprints", control.get("fingerprints") + 1)

    def stop_holding_on_save(self) -> None:
        """Let saves pass from now on."""
        for control in self._training():
            control.put("hold_on_save", 0)

    def go_on_to_save(self, *, hold: bool) -> None:
        """Let a held run go on, by itself or to be held again at its next save."""
        assert self._sampler is not None
        self._sampler.proceed()
        for control in self._training():
            control.put("hold_on_save", int(hold))
        self._alone_since_s = time.perf_counter()
        tree.proceed(self.root)
        self._stopped = False
        self.release_once()

    def hold_soon(self, timeout_s: float) -> None:
        """Hold a run that is going on, at the end of the step that it is in or of the next one."""
        for control in self._training():
            control.put("hold_at", control.get("steps") + 1)
        self.wait_until(self.any_held, timeout_s)

    def release_once(self) -> None:
        """Let held processes go on to the next save; a hold that is seen afterwards is another one."""
        taken = self.steps()
        for control in self._training():
            control.put("hold_at", NEVER)
        self.wait_until(lambda: self.steps() > taken or not self.any_held(), RELEASE_TIMEOUT_S)

    def start_stacks(self) -> None:
        """Attach the stack samplers; they wait until a turn wants them."""
        self._stacks.start(self.training_processes())

    def pause_stacks(self) -> None:
        """Take no stack samples until the next sampled turn."""
        self._stacks.pause()

    def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for a condition; False when the run ended or the time ran out before it came true.

        Raises:
            ScriptError: The script was about to destroy a file of the user's.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if condition():
                return True
            ended = self.ended()
            self.refuse_violations()
            if ended is not None:
                return condition()
            time.sleep(_SLOW_POLL_S)
        return condition()

    def advance(self, steps: int, phase: str, *, sampled: bool = False) -> Turn | None:
        """Let the run go on for so many steps and hold it again.

        Returns:
            The turn, or None when the run ended before it was over.

        Raises:
            ScriptError: The steps did not come within the time.
        """
        target = self.steps() + steps
        start_s = self._go(target, sampled)
        controls = self._training()
        while not all(control.get("held") and control.get("steps") >= target for control in controls):
            if self.ended() is not None:
                return None
            spent_s = time.perf_counter() - start_s
            if spent_s > TURN_TIMEOUT_S:
                what = f"the {self.name} arm took no {steps} more steps within {TURN_TIMEOUT_S:.0f} s"
                raise ScriptError(what, tail=self.tail())
            time.sleep(pause_s(steps, target - self.steps(), spent_s))
        end_s = time.perf_counter()
        turn = Turn(start_s, end_s, phase, sampled)
        self._halt(sampled)
        self.recording.add_turn(turn)
        return turn

    def halt_alone(self) -> None:
        """Stop the run's processes where they are held, after a stretch without another arm."""
        self.recording.add_turn(Turn(self._alone_since_s, time.perf_counter(), "alone", sampled=False))
        self._halt(sampled=False)

    def refuse_violations(self) -> None:
        """Raise when the script was about to destroy a file that was there before.

        Raises:
            ScriptError: It was; the file is untouched.
        """
        for action, path in self.lines("v"):
            raise ScriptError(
                f"the script was about to {action} {path}, which was there before the probe; it was stopped, "
                "and the file is as it was",
                hint="give the script another output folder, or allow it with --allow-overwrite",
            )

    def _write_trailer(self, ended: Ended | None, outcome: Mapping[str, object]) -> None:
        self.recording.finish(
            ended_by="itself" if ended is not None else "doctor",
            exit_code=ended.exit_code if ended is not None else None,
            not_measured={"stacks": self._stacks.why_not} if self._stacks.why_not else {},
            **outcome,
        )

    def _go(self, hold_at: int, sampled: bool) -> float:
        assert self._sampler is not None
        if sampled:
            self._stacks.proceed()
        self._sampler.proceed()
        if self._stopped:
            self._going_on = tree.proceed(self.root)
            self._stopped = False
        start_s = time.perf_counter()
        for control in self._training():
            control.put("hold_at", hold_at)
        return start_s

    def _halt(self, sampled: bool) -> None:
        assert self._sampler is not None
        if sampled:
            self._stacks.pause()
        tree.stop(self.root, self._going_on)
        self._stopped = True
        self._sampler.pause()

    def _training(self) -> list[Control]:
        """The control files of the processes that have taken a step."""
        self._discover()
        return [control for control in self._controls.values() if control.get("steps")]

    def _discover(self) -> None:
        for path in self.folder.glob(f"{PREFIX}*"):
            pid = int(path.name.removeprefix(PREFIX))
            if pid not in self._controls:
                with suppress(OSError, ValueError):
                    control = Control(path)
                    if control.get("pid"):
                        self._controls[pid] = control
                    else:
                        control.close()


class _Growing:
    """A file of lines that is being written: each line is read once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_lines(self) -> list[str]:
        """The whole lines that were added since the last call; none where there is no file."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except OSError:
            return []
        text = text[: text.rfind(b"\n") + 1]
        self._offset += len(text)
        return text.decode("utf-8", "surrogateescape").splitlines()


def with_agent(environment: Mapping[str, str], options: AgentOptions) -> dict[str, str]:
    """The environment that brings the agent into every Python process of a run."""
    paths = [str(INJECT), *filter(None, [environment.get("PYTHONPATH")])]
    return {**environment, **options.to_environment(), "PYTHONPATH": os.pathsep.join(paths)}
