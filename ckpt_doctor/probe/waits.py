"""Waits until a run has done what the experiment needs of it next, or says why it has not."""

from __future__ import annotations

import shlex
import time
from pathlib import Path

from ckpt_doctor.errors import ScriptError
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.probe.saved import checkpoint_of, newest, saves, state_on_disk, step_at
from ckpt_doctor.probe.turns import Progress

UNCHANGED_S = 0.5
"""A file that matches ``--checkpoint-path`` is whole once it has not changed for so long; by then a thread
has moved what it saved to where it belongs."""

NO_OPTIMIZER = (
    "steps are counted at torch.optim.Optimizer.step, so updates without such an optimizer are not seen"
)


class Waits:
    """Waits as long as the request allows."""

    def __init__(self, request: ProbeRequest, progress: Progress) -> None:
        self._request = request
        self._progress = progress

    def for_first_step(self, arm: Arm) -> None:
        """Wait until a run that was started has taken a step.

        Raises:
            ScriptError: It has not in time, or it ended before.
        """
        timeout_s = self._request.first_step_timeout_s
        if arm.wait_until(lambda: arm.steps() > 0, timeout_s):
            return
        ended = arm.ended()
        if ended is None:
            raise ScriptError(
                f"the {arm.called} run took no optimizer step within {timeout_s:.0f} s",
                hint=f"a longer --first-step-timeout, if it is only slow to start; {NO_OPTIMIZER}",
                tail=arm.tail(),
            )
        if ended.error is not None:
            raise ScriptError(f"the {arm.called} run could not be started: {ended.error}")
        fresh = NO_OPTIMIZER if ended.exit_code == 0 else None
        hint = fresh if arm.called == "fresh" else f"the command was: {shlex.join(arm.command)}"
        raise ScriptError(
            f"the {arm.called} run ended {ended.how} before its first optimizer step",
            hint=hint,
            tail=arm.tail(),
        )

    def for_steps(self, arm: Arm, steps: int) -> None:
        """Wait until a run is held, as it was told to be after so many steps; a resumed one may end before.

        Raises:
            ScriptError: It has not come so far.
        """
        timeout_s = self._request.save_timeout_s
        if arm.wait_until(arm.any_held if arm.called == "fresh" else arm.held, timeout_s):
            return
        if arm.called == "fresh":
            raise ScriptError(f"the fresh run took fewer than {steps} steps ({arm.steps()})", tail=arm.tail())
        if arm.is_alive:
            raise ScriptError(f"the {arm.called} run took no {steps} steps within {timeout_s:.0f} s")

    def for_save(self, arm: Arm, since_unix_s: float, seen: int = 0) -> tuple[Path, int]:
        """Wait for a save that can be resumed from.

        Args:
            arm: Whose save.
            since_unix_s: When the wait began: an older match of ``--checkpoint-path`` is not its save.
            seen: How many saves it had made by then.

        Returns:
            What was saved, and the step in which it was.

        Raises:
            ScriptError: There was none in time, or the run ended before.
        """
        timeout_s = self._request.save_timeout_s
        self._progress(f"{arm.called} run: waiting for its checkpoint", None)
        deadline = time.monotonic() + timeout_s
        while True:
            in_time = arm.wait_until(lambda: self._save_seen(arm, since_unix_s), deadline - time.monotonic())
            match = self._newest_match(since_unix_s)
            if match is not None:
                arm.stop_holding_on_save()
                arm.hold_soon(timeout_s)
                arm.wait_until(_Unchanged(match), timeout_s)
                step = step_at(arm.folder.glob("rank*.jsonl"), match.stat().st_mtime)
                return match.absolute(), arm.steps() if step is None else step
            every = saves(arm.folder.glob("rank*.jsonl"))
            if any(save.beside for save in every[seen:]):
                arm.wait_until(lambda: False, UNCHANGED_S)
            written = [path for (path,) in arm.lines("w")]
            checkpoint = checkpoint_of(every[seen:], written, arm.lines("m"))
            if checkpoint is not None:
                arm.stop_holding_on_save()
                return checkpoint.absolute(), every[-1].step
            if not in_time:
                raise self._no_save(arm)
            seen = len(every)
            arm.release_once()

    def for_next_save(self, arm: Arm) -> int:
        """Let a fresh run that is held at a save go on to the next one; returns the step of that.

        Raises:
            ScriptError: There was none in time, or the run ended before.
        """
        seen, since_unix_s = len(saves(arm.folder.glob("rank*.jsonl"))), time.time()
        arm.go_on_to_save(hold=self._request.checkpoint_path is None)
        _, step = self.for_save(arm, since_unix_s, seen)
        return step

    def _save_seen(self, arm: Arm, since_unix_s: float) -> bool:
        if self._request.checkpoint_path is not None:
            return self._newest_match(since_unix_s) is not None
        return arm.any_held()

    def _newest_match(self, since_unix_s: float) -> Path | None:
        pattern = self._request.checkpoint_path
        return None if pattern is None else newest(pattern, since_unix_s)

    def _no_save(self, arm: Arm) -> ScriptError:
        ended = arm.ended()
        hint = "save earlier, name the file with --checkpoint-path, or give one with --checkpoint"
        if ended is not None and ended.exit_code:
            return ScriptError(f"the {arm.called} run ended {ended.how} before it saved", tail=arm.tail())
        again = " again" if self._request.resumes > 1 and saves(arm.folder.glob("rank*.jsonl")) else ""
        if ended is not None:
            return ScriptError(
                f"the {arm.called} run ended after {arm.steps()} steps without a save{again} that was seen",
                hint=hint,
            )
        what = f"no checkpoint save{again} was seen within {self._request.save_timeout_s:.0f} s"
        return ScriptError(
            f"{what} ({arm.steps()} steps)", hint=f"{hint}; or wait longer with --save-timeout"
        )


class _Unchanged:
    """Whether what was saved has not changed for a while: a thread may write it while the run is held."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: object = None
        self._since_s = 0.0

    def __call__(self) -> bool:
        found = state_on_disk(self._path), time.monotonic()
        if found[0] != self._seen:
            self._seen, self._since_s = found
        return found[1] - self._since_s >= UNCHANGED_S
