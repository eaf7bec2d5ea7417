"""The paired experiment: an uninterrupted run, and one resumed from its checkpoint beside it.

1. The *before* arm runs the command fresh, and is held at the end of the step in which it saves its
   first checkpoint. From there on it is the control, and goes on as if nothing had happened.
2. While it is held, the *after* arm is started from the checkpoint: nothing that the control does
   later can reach what is loaded. It is held as soon as it is as far as the control.
3. Both take turns of equally many steps, one held and stopped while the other runs, so that what
   the machine does to one it does to the other. Before each turn the page cache is put back to what
   that run alone would have made of it: else whichever reads a page first would pay for both.

With ``--resumes 2`` the run is resumed twice in a row: a first resumed run goes on to a save of its own
and is ended; the control goes on to its next save as well, and the second resumed run is compared with
it. Faults that need two resumes (a position that stops advancing, groups that are appended each time)
show there only.

Where memory does not hold two runs (or on demand), the control runs to its end first, the checkpoint
is put back as it was at the save, and the resumed run follows.

With ``--pairs N``, and unasked where one pair leaves the answer open, all this is done again, with fewer
turns each: what two processes of identical code differ by shows only in several of them. Each further pair
is a fresh run up to the same save and past it, and one that is resumed from the first pair's checkpoint.
They find what the first ones found: the folder of the checkpoints without what was saved there since, and
the page cache as it was at the save.

With ``--confirm`` both runs (of the first pair) are held where they are, until it is known which causes are
suspected. For each, one more run is resumed from the same checkpoint with that cause taken away. Once it is
as far as the others it takes turns with both of them: with the control, to be held against it, and with the
resumed run, since a slowdown may fade by itself.

A turn ends at the end of a step, at a step number fixed beforehand, so no step is cut, and long
steps are neither more nor less likely to be counted than short ones.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.errors import CheckpointError, InputError, MachineError, ScriptError, UsageError
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.treatment import Trial
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.cleared import Cleared
from ckpt_doctor.probe.commands import resumed
from ckpt_doctor.probe.kept import Kept, has_room
from ckpt_doctor.probe.loads import is_within, other_load
from ckpt_doctor.probe.outputs import Outputs
from ckpt_doctor.probe.pairs import further_pair, is_worth_its_start, most_unasked
from ckpt_doctor.probe.recording import new_folder
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.probe.residency import Residency, evict
from ckpt_doctor.probe.room import holds_more, warmed
from ckpt_doctor.probe.saved import saves
from ckpt_doctor.probe.turns import MIN_TURN_STEPS, Progress, Turns
from ckpt_doctor.probe.variables import variables
from ckpt_doctor.probe.waits import Waits
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.stats.alignment import INTERLEAVED, WARM_UP_STEPS

SIBLINGS = 20_000
"""Files looked at beside those that were read: the ones that come next lie in the same folders."""

UNSAVED_CONTROL_STEPS = 10
"""Where the checkpoint is given, the control runs this far before the resumed run is started."""

START_STEPS = WARM_UP_STEPS + MIN_TURN_STEPS
"""Steps of a treated run of which only the start is looked at."""

OF_THE_PROBE = ("command", "output", "pairs")
"""What a request says of the probe as a whole; a recording tells the rest of it, beside its own command."""


@dataclass(frozen=True)
class TrialOutcome:
    """Where a treated run left its recording, or why there is none."""

    trial: Trial
    recording: Path | None
    why_not: str | None = None


@dataclass(frozen=True)
class ProbeOutcome:
    """Where a finished probe left its recordings."""

    before: Path
    after: Path
    checkpoint: Path
    warnings: tuple[str, ...]
    saved: CheckpointFacts | None = None
    """What the checkpoint held before anything was resumed from it; None where it cannot be inspected."""
    trials: tuple[TrialOutcome, ...] = ()
    pairs: tuple[tuple[Path, Path], ...] = ()
    """Where further pairs of processes left theirs, each of its fresh and its resumed run."""


Choose = Callable[[ProbeOutcome], Sequence[Trial]]
"""Is given the recordings of both runs while these are held, and says which causes to take away."""
IsOpen = Callable[[ProbeOutcome], bool]
"""Is given the recordings so far, and says whether more pairs of processes may give another answer."""


def run(
    request: ProbeRequest,
    progress: Progress,
    *,
    is_open: IsOpen | None = None,
    choose: Choose | None = None,
) -> ProbeOutcome:
    """Run both arms, then further pairs, then those that confirm; leave no process behind however it ends.

    Args:
        request: What to run, and how.
        progress: Is told what goes on.
        is_open: Says whether to measure one more pair, where the request leaves their number open; without
            it there is one.
        choose: Chooses the trials; without it there are none.

    Raises:
        UsageError: The request contradicts itself.
        InputError: The given checkpoint is not there, or the output folder is.
        ScriptError: The script did not take a step, save, load, or go on.
        MachineError: There is no room for a copy of the checkpoint.
    """
    pairs = request.pairs or 1
    goes_on = is_open if request.pairs is None else None
    keeps: bool | None = choose is not None or pairs > 1
    if not keeps and goes_on is not None:
        keeps = None
    experiment = _Experiment(request, progress, keeps=keeps)
    try:
        outcome = experiment.run()
        if pairs > 1 or goes_on is not None:
            outcome = experiment.repeat(outcome, goes_on, holds=choose is not None)
        if choose is not None:
            outcome = experiment.confirm(outcome, choose)
        progress("ending the runs", None)
        return outcome
    finally:
        experiment.end()


class _Experiment:
    def __init__(self, request: ProbeRequest, progress: Progress, *, keeps: bool | None) -> None:
        """Plan it.

        Args:
            request: As for ``run``.
            progress: Likewise.
            keeps: Whether the checkpoint is copied, for runs after the first two; None where there is room.
        """
        self._request = request
        self._progress = progress
        self._keeps = keeps
        self._waits = Waits(request, progress)
        self._started_unix_s = time.time()
        self._folder = new_folder(request.output or _default_folder())
        self._warnings: list[str] = []
        self._arms: list[Arm] = []
        self._outcome: dict[str, dict[str, object]] = {}
        self._outputs: Outputs | None = None
        self._kept: Kept | None = None
        self._views: dict[str, Residency] = {}
        """What each arm would find in the page cache by itself, by the arm's name."""
        self._origin = 0
        """The control's first step since the save."""
        self._at_save: Residency | None = None
        """What the control found in the page cache from its save on, where others are to find the same."""
        self._cache: Residency | None = None
        """What the resumed run found in the page cache when it started, likewise."""
        self._turns_s = 0.0
        """What all turns have taken."""

    def run(self) -> ProbeOutcome:
        request = self._request
        given = _given(request.checkpoint)
        if given and request.resumes > 1:
            raise UsageError(
                "--resumes needs the script's own saves", hint="leave out --checkpoint, or --resumes"
            )
        before = self._start_fresh("before")
        checkpoint, origin = (
            (given, UNSAVED_CONTROL_STEPS - 1)
            if given
            else self._waits.for_save(before, self._started_unix_s)
        )
        for number in range(1, request.resumes):
            checkpoint = self._resume_in_between(number, before, checkpoint)
            origin = self._next_save_of_control(number, before, checkpoint)
        self._origin = origin
        saved = self._inspect(checkpoint)
        after = self._resume_beside(before, "after", checkpoint, origin, request)
        return ProbeOutcome(before.folder, after.folder, checkpoint, tuple(self._warnings), saved)

    def repeat(self, outcome: ProbeOutcome, is_open: IsOpen | None, *, holds: bool) -> ProbeOutcome:
        """Run further pairs of processes, as many as are wanted and as the time budget holds.

        Args:
            outcome: What the first pair left.
            is_open: Says whether one more is wanted; None for as many as were asked for.
            holds: Whether the first pair is to be held meanwhile, and not ended.
        """
        wanted = self._request.pairs or most_unasked(self._request.budget_s)
        starts_s = time.time() - self._started_unix_s - self._turns_s
        for arm in self._arms:
            if holds:
                self._settle(arm)
            else:
                self._end(arm)
        for number in range(2, wanted + 1):
            if is_open is not None and not (
                self._keeps and is_worth_its_start(self._request, starts_s) and is_open(outcome)
            ):
                break
            try:
                pair = self._run_again(f"{number} of {wanted}", number, outcome.checkpoint)
            except (ScriptError, MachineError) as error:
                self._warnings.append(f"{number - 1} of {wanted} pairs of processes measured: {error.what}")
                break
            outcome = replace(outcome, pairs=(*outcome.pairs, pair))
        return replace(outcome, warnings=tuple(self._warnings))

    def confirm(self, outcome: ProbeOutcome, choose: Choose) -> ProbeOutcome:
        """Hold both runs as they are, let it be chosen what is tested, and run each trial."""
        for arm in self._arms:
            self._settle(arm)
        done = tuple(self._try(outcome.checkpoint, trial) for trial in choose(outcome))
        return replace(outcome, warnings=tuple(self._warnings), trials=done)

    def end(self) -> None:
        """End all arms and finish their recordings."""
        for arm in self._arms:
            self._end(arm)
        if self._outputs is not None:
            self._outputs.settle()
        if self._kept is not None:
            self._kept.discard()

    # --- the arms --------------------------------------------------------------------------

    def _start_fresh(self, name: str) -> Arm:
        """Start a fresh run that is held at its save, or after some steps where the checkpoint is given."""
        request = self._request
        hold_at = None if request.checkpoint is None else UNSAVED_CONTROL_STEPS
        watched = hold_at is None and request.checkpoint_path is None
        second = name != "before"
        before = self._arm(name, request.command, hold_at=hold_at, hold_on_save=watched, second=second)
        self._progress(f"fresh run: {shlex.join(request.command)}", None)
        before.start()
        self._waits.for_first_step(before)
        if hold_at is not None:
            self._waits.for_steps(before, hold_at)
        return before

    def _start_resumed(self, name: str, checkpoint: Path, steps: int, trial: Trial | None = None) -> Arm:
        """Start a run from the checkpoint, and hold it after so many steps."""
        request = self._request
        command = resumed(request.command, request.resume_args, request.after_args, str(checkpoint))
        arm = self._arm(name, command, hold_at=steps, second=True, trial=trial)
        self._outcome[name] = {"origin_step": 0, "checkpoint": str(checkpoint)}
        told = shlex.join(command) if trial is None else trial.put_back.what
        self._progress(f"{arm.called} run: {told}", None)
        arm.start()
        self._waits.for_first_step(arm)
        self._waits.for_steps(arm, steps)
        if arm.is_alive:
            arm.halt_alone()
        else:
            self._check_end(arm)
        return arm

    def _settle(self, arm: Arm) -> None:
        arm.settle(**self._outcome.get(arm.name, {}))

    def _end(self, arm: Arm) -> None:
        arm.end(**self._outcome.get(arm.name, {}))

    def _arm(
        self,
        name: str,
        command: Sequence[str],
        *,
        hold_at: int | None,
        hold_on_save: bool = False,
        second: bool = False,
        trial: Trial | None = None,
    ) -> Arm:
        request = self._request
        folder = self._folder / name
        options = AgentOptions(
            recording=str(folder),
            watch_files=True,
            protect_since=None if request.allow_overwrite else self._started_unix_s,
            hold_on_save=hold_on_save,
            hold_at=hold_at,
            allow_tracing=request.stacks,
            treatment=_treatment(trial),
        )
        recorded = {key: value for key, value in asdict(request).items() if key not in OF_THE_PROBE}
        if trial is not None:
            recorded["treatment"] = trial.put_back.what
        environment = variables(request, trial, second=second)
        arm = Arm(name, command, folder, options, environment, recorded)
        self._arms.append(arm)
        return arm

    def _after_start_steps(self, before: Arm, origin: int, alive: bool) -> int:
        """How many steps the resumed run takes before it is held: as many as the control has taken."""
        taken = before.steps() - origin
        if not alive and taken < MIN_TURN_STEPS:
            taken = before.steps()  # the script ended at its save: its steps before that are the control
        return max(1, min(self._request.steps, taken))

    def _resume_in_between(self, number: int, before: Arm, checkpoint: Path) -> Path:
        """Resume, wait for a save of the resumed run's own, and end it; returns what it saved."""
        request = self._request
        if before.ended() is None:
            before.halt_alone()
        command = resumed(request.command, request.resume_args, request.after_args, str(checkpoint))
        since_unix_s = time.time()
        watched = request.checkpoint_path is None
        between = self._arm(f"between-{number}", command, hold_at=None, hold_on_save=watched, second=True)
        self._progress(f"resumed run {number}: {shlex.join(command)}", None)
        between.start()
        self._waits.for_first_step(between)
        saved, _ = self._waits.for_save(between, since_unix_s)
        self._check_load(between, before, checkpoint)
        between.end()
        return saved

    def _next_save_of_control(self, number: int, before: Arm, checkpoint: Path) -> int:
        """Let the control go on to its next save, but leave the resumed run's in place.

        Returns:
            The step of the control's save.
        """
        kept = Kept(checkpoint, self._folder / f"checkpoint-{number}")
        step = self._waits.for_next_save(before)
        kept.put_back()
        kept.discard()
        return step

    # --- the pair --------------------------------------------------------------------------

    def _resume_beside(
        self, before: Arm, name: str, checkpoint: Path, origin: int, request: ProbeRequest
    ) -> Arm:
        """Start a resumed run where the fresh one is held at its save, and let both take their turns.

        Returns:
            The resumed run.
        """
        self._outcome[before.name] = {"origin_step": origin, "checkpoint": str(checkpoint)}
        if self._keeps is None:
            self._keeps = has_room(checkpoint, self._folder)
        residency = self._views[before.name] = self._view_at_save(before)
        alive = before.is_alive
        if alive:
            before.halt_alone()
        if self._keeps:
            self._keep(checkpoint)
            residency.put_back(before.read_files())
        if alive and (request.alternate or not self._memory_for_two(before)):
            self._run_control_to_its_end(before, checkpoint, request)
            residency.put_back(before.read_files())
            alive = False
        if request.cold_cache:
            evict(before.read_files())
        if self._keeps:
            self._find_cache(before)
        self._outputs = Outputs(checkpoint.parent)
        try:
            after = self._start_resumed(name, checkpoint, self._after_start_steps(before, origin, alive))
        except ScriptError as error:
            if not (alive and _needs_to_be_alone(error)):
                raise
            self._warnings.append("both runs want the same device or port: they ran one after the other")
            self._arms.pop().discard()
            self._run_control_to_its_end(before, checkpoint, request)
            alive = False
            after = self._start_resumed(name, checkpoint, self._after_start_steps(before, origin, alive))
        self._check_load(after, before, checkpoint)
        self._outputs.hide(after.name, after.written_paths())
        if alive and after.is_alive:
            self._views[after.name] = Residency(self._data_files(after))
            self._take_turns((before, after), request)
        return after

    def _view_at_save(self, before: Arm) -> Residency:
        """What the fresh run finds in the page cache from its save on; further ones find the same."""
        if self._at_save is not None:
            return self._at_save.copy()
        view = Residency(self._data_files(before))
        if self._keeps:
            self._at_save = view.copy()
        return view

    def _find_cache(self, before: Arm) -> None:
        """Note what the resumed run will find in the page cache; for further ones, put that back."""
        files = self._data_files(before)
        if self._cache is None:
            self._cache = Residency(files)
        else:
            self._cache.put_back(files)

    # --- further pairs ---------------------------------------------------------------------

    def _plan_again(self) -> ProbeRequest:
        """What the next pair of processes is asked to do.

        Raises:
            MachineError: There is no time, or no memory, for one.
        """
        plan, first = further_pair(self._request, self._turns_s), self._arms[0]
        if plan is None:
            raise MachineError(f"the time budget of {self._request.budget_s:.0f} s ended")
        if first.is_alive and not holds_more(first, runs=2):
            raise MachineError("memory does not hold more runs beside the first ones")
        return plan

    def _run_again(self, told: str, number: int, checkpoint: Path) -> tuple[Path, Path]:
        """Run one more pair of processes, the first one of which starts afresh.

        Returns:
            The recordings of both.

        Raises:
            ScriptError: They did not come as far as the first ones did.
            MachineError: There is no time, or no memory, for one.
        """
        assert self._kept is not None
        plan = self._plan_again()
        self._progress(f"pair {told}", None)
        earlier, outputs = len(self._arms), self._outputs
        saved = [str(checkpoint), *_all_written(self._arms)]
        cleared = Cleared(checkpoint.parent, saved, self._started_unix_s)
        try:
            since_unix_s = time.time()
            before = self._start_fresh(f"before-{number}")
            origin = self._wait_for_origin(before, since_unix_s)
            self._check_fresh(before, checkpoint)
            self._kept.put_back()
            after = self._resume_beside(before, f"after-{number}", checkpoint, origin, plan)
        finally:
            ours = self._arms[earlier:]
            for arm in ours:
                self._end(arm)
            if self._outputs is not None and self._outputs is not outputs:
                self._outputs.settle()
            self._outputs = outputs
            cleared.put_back([str(checkpoint), *_all_written(ours)])
            if not checkpoint.exists():
                self._kept.put_back()  # a script may empty its folder as it starts
        return before.folder, after.folder

    def _wait_for_origin(self, before: Arm, since_unix_s: float) -> int:
        """Wait until a further fresh run is held where the first one was when the resumed run started.

        Returns:
            The step from which its steps count.
        """
        if self._request.checkpoint is not None:
            return UNSAVED_CONTROL_STEPS - 1
        _, origin = self._waits.for_save(before, since_unix_s)
        for _ in range(1, self._request.resumes):
            origin = self._waits.for_next_save(before)
        return origin

    def _check_fresh(self, before: Arm, checkpoint: Path) -> None:
        """Raise where a further fresh run has read what the first one has saved and not read.

        Raises:
            ScriptError: It has: then it is no fresh run, and may be as slow as the resumed one.
        """
        first = self._arms[0]
        saved = {save.path for save in saves(first.folder.glob("rank*.jsonl"))}
        for path in sorted(_all_read(before) - _all_read(first)):
            if path in saved or is_within(path, checkpoint):
                raise ScriptError(f"the next fresh run has read {path}, which the first one has saved")

    # --- the checkpoint --------------------------------------------------------------------

    def _inspect(self, checkpoint: Path) -> CheckpointFacts | None:
        """Read what was saved now: the runs to come may save over it, or rotate it away."""
        try:
            return read_checkpoint(str(checkpoint))
        except CheckpointError as error:
            self._warnings.append(f"the checkpoint could not be inspected: {error}")
            return None

    def _check_load(self, after: Arm, before: Arm, checkpoint: Path) -> None:
        """Raise where the resumed run has started afresh; tell where it has loaded another checkpoint."""
        other = other_load(after, before, checkpoint, self._started_unix_s)
        if other is not None:
            self._warnings.append(other)

    # --- the measurement -------------------------------------------------------------------

    def _take_turns(self, arms: Sequence[Arm], request: ProbeRequest, phase: str = INTERLEAVED) -> None:
        assert self._outputs is not None
        views = [self._views[arm.name] for arm in arms]
        turns = Turns(arms, views, self._outputs, request, self._progress, phase)
        began_s = time.monotonic()
        ended, cut_short = turns.take()
        self._turns_s += time.monotonic() - began_s
        if ended is not None:
            self._check_end(ended)
        if cut_short:
            self._warnings.append(f"the time budget of {self._request.budget_s:.0f} s ended before all turns")

    # --- confirming ------------------------------------------------------------------------

    def _try(self, checkpoint: Path, trial: Trial) -> TrialOutcome:
        """Take one cause away; a treated run that fails leaves what was found as it is."""
        assert self._outputs is not None
        others = len(self._arms)
        try:
            self._treat(checkpoint, trial)
        except (ScriptError, MachineError) as error:
            return TrialOutcome(trial, None, error.what)
        finally:
            for arm in self._arms[others:]:
                self._end(arm)
                self._outputs.hide(arm.name, arm.written_paths())
        return TrialOutcome(trial, self._folder / trial.name)

    def _treat(self, checkpoint: Path, trial: Trial) -> None:
        """Run what the after arm ran, with a cause taken away, beside as many of the others as there is room.

        Raises:
            ScriptError: It did not come as far as the resumed run did.
            MachineError: There is no room for what the treatment needs.
        """
        before, after = (arm for arm in self._arms if arm.name in ("before", "after"))
        if not before.is_alive or not holds_more(before):
            self._end(after)
        steps = before.steps() - self._origin if before.is_alive else after.steps()
        if not trial.is_lasting:
            steps = min(steps, START_STEPS)
        try:
            treated = self._start_treated(checkpoint, trial, (before, after), steps)
        except ScriptError as error:
            if not (after.is_alive and _needs_to_be_alone(error)):
                raise
            self._arms.pop().discard()
            self._end(after)
            treated = self._start_treated(checkpoint, trial, (before, after), steps)
        if trial.is_lasting and before.is_alive and treated.is_alive:
            living = [arm for arm in (before, after, treated) if arm.is_alive]
            self._take_turns(living, self._request, trial.name)

    def _start_treated(self, checkpoint: Path, trial: Trial, pair: tuple[Arm, Arm], steps: int) -> Arm:
        """Start it from what the resumed run found: the checkpoint, the page cache, the folder."""
        assert self._kept is not None
        assert self._outputs is not None
        files = self._data_files(pair[0]) | self._data_files(pair[1])
        self._kept.put_back()
        assert self._cache is not None
        cache = warmed(files, pair, checkpoint) if trial.put_back.warm else self._cache
        cache.put_back(files)
        treated = self._start_resumed(trial.name, checkpoint, max(1, steps), trial)
        self._check_load(treated, pair[0], checkpoint)
        self._outputs.hide(treated.name, treated.written_paths())
        self._views[treated.name] = cache if trial.put_back.warm else Residency(self._data_files(treated))
        return treated

    def _keep(self, checkpoint: Path) -> Kept:
        """The copy of the checkpoint as it was at the save."""
        if self._kept is None:
            self._kept = Kept(checkpoint, self._folder / "checkpoint")
        return self._kept

    def _run_control_to_its_end(self, before: Arm, checkpoint: Path, request: ProbeRequest) -> None:
        """Take all of the control's steps now, keep the checkpoint as it is, and end the control."""
        kept = self._keep(checkpoint)
        began_s = time.monotonic()
        steps = MIN_TURN_STEPS
        turn = before.advance(steps, "alone")
        if turn is not None:
            step_s = (turn.t_end_s - turn.t_start_s) / steps
            steps = min(request.steps, max(MIN_TURN_STEPS, round(request.turns * request.turn_s / step_s)))
            self._progress(f"fresh run: {steps} steps as the control", None)
            turn = before.advance(steps, "alone")
        if turn is None:
            self._check_end(before)
        # The resumed run will take as many steps.
        self._turns_s += 2.0 * (time.monotonic() - began_s)
        self._end(before)
        kept.put_back()

    def _check_end(self, arm: Arm) -> None:
        """A run may end by itself before all steps are taken, unless it failed.

        Raises:
            ScriptError: It ended with an error.
        """
        arm.refuse_violations()
        ended = arm.ended()
        if ended is not None and ended.exit_code:
            raise ScriptError(
                f"the {arm.called} run ended {ended.how} after {arm.steps()} steps",
                tail=arm.tail(),
            )
        self._warnings.append(f"the {arm.called} run ended by itself after {arm.steps()} steps")

    # --- the machine -----------------------------------------------------------------------

    def _memory_for_two(self, before: Arm) -> bool:
        """Whether a second run of the same size fits into memory beside the first."""
        if holds_more(before):
            return True
        self._warnings.append(
            "memory does not hold two runs: they ran one after the other, so their times tell less"
        )
        return False

    def _data_files(self, arm: Arm) -> set[Path]:
        """The files that the run has read, and those beside them, which it may read next."""
        read = arm.read_files()
        folders = {path.parent for path in read}
        beside: set[Path] = set(read)
        for folder in folders:
            try:
                with os.scandir(folder) as entries:
                    beside.update(Path(entry.path) for entry in entries if entry.is_file())
            except OSError:
                continue
            if len(beside) > SIBLINGS:
                break
        return beside


def _needs_to_be_alone(error: ScriptError) -> bool:
    """Whether a run failed for what the other one holds: its port, or the memory of a device."""
    said = "\n".join(error.tail).lower()
    return "address already in use" in said or "eaddrinuse" in said or "out of memory" in said


def _all_written(arms: Iterable[Arm]) -> set[str]:
    return {path for arm in arms for path in arm.written_paths()}


def _all_read(arm: Arm) -> set[str]:
    return {*map(str, arm.read_files()), *arm.loaded_paths()}


def _given(checkpoint: str | None) -> Path | None:
    if checkpoint is None:
        return None
    path = Path(checkpoint).absolute()
    if not path.exists():
        raise InputError(
            f"{checkpoint}: there is no such checkpoint", hint="give a file or folder that exists"
        )
    return path


def _default_folder() -> Path:
    return Path("ckpt-doctor") / time.strftime("probe-%Y%m%d-%H%M%S")


def _treatment(trial: Trial | None) -> dict[str, object] | None:
    """What the agent is told to put back."""
    if trial is None or trial.put_back.settings is None:
        return None
    return {"code": trial.code, "settings": trial.put_back.settings}
