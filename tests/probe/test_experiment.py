"""The paired experiment, on scripts that resume well, badly, or not at all."""

from __future__ import annotations

import ast
import shutil
import socket
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor.errors import CkptDoctorError, InputError, ScriptError, UsageError
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.facts.treatment import PutBack, Trial
from ckpt_doctor.probe import experiment
from ckpt_doctor.probe.experiment import START_STEPS, Choose, IsOpen, ProbeOutcome, run
from ckpt_doctor.probe.request import ProbeRequest
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.readers.recordings import read_recording
from tests.recorded import check_parts

SCRIPT = """
import argparse, os, sys
parser = argparse.ArgumentParser()
parser.add_argument("--resume")
parser.add_argument("--fault", default="")
parser.add_argument("--steps", type=int, default=10**9)
args = parser.parse_args()
fault = args.fault
print("begins", file=sys.stderr)
if fault == "exit":
    print("it cannot go on", file=sys.stderr)
    sys.exit(7)
if fault == "settings":
    names = ("OMP_NUM_THREADS", "MALLOC_TRIM_THRESHOLD_", "PET_MASTER_PORT", "CKPT_DOCTOR_RECORDING")
    sys.exit(str([os.environ.get(name) for name in names]))
if fault == "fragile" and "MALLOC_ARENA_MAX" in os.environ:
    sys.exit(9)
if fault == "hang":
    while True:
        pass
if fault == "overwrite":
    open("precious.txt", "w")
if fault == "delete":
    import shutil
    shutil.rmtree("kept")
if fault == "once" and not args.resume:
    open("ran", "x")

if fault == "port":
    import socket
    held = socket.socket()
    held.bind(("127.0.0.1", int(os.environ["TEST_PORT"])))
    held.listen()

import torch
torch.manual_seed(0)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.Adam(model.parameters())
step = resumes = 0
resume = args.resume
if fault == "auto" and os.path.exists("out/last.pt"):
    resume = "out/last.pt"
if fault == "copies":
    resume = next(filter(os.path.exists, ("out/last.pt", "other/last.pt")), None)
if resume and fault == "pickle":
    import pickle
    with open(resume, "rb") as file:
        step = pickle.load(file)["step"]
elif resume and fault != "forgetful":
    state = torch.load(resume)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    resumes = state["resumes"] + 1
    print("resumes", resumes, "at", step)
first = step
os.makedirs("out", exist_ok=True)
while step < args.steps:
    optimizer.zero_grad()
    model(torch.ones(16, 64)).square().mean().backward()
    optimizer.step()
    step += 1
    if fault == "late" and resume and step == first + 8:
        raise RuntimeError("late")
    if (step == 6 or (fault in ("again", "copies") and step % 6 == 0)) and fault != "unsaved":
        path = "kept/old.pt" if fault == "save over" else "out/last.pt"
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step,
                 "resumes": resumes}
        if fault == "pickle":
            import pickle
            with open("out/state.pkl", "wb") as file:
                pickle.dump({k: v for k, v in state.items() if k == "step"} | {"pad": bytes(500)}, file)
        else:
            torch.save(state, path)
            if fault == "copies":
                os.makedirs("other", exist_ok=True)
                torch.save(state, "other/last.pt")
"""

PRECIOUS = "nobody may touch this"
Probe = Callable[..., ProbeOutcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the script and files of the user's; it is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "precious.txt").write_text(PRECIOUS)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/old.pt").write_text(PRECIOUS)
    return tmp_path


@pytest.fixture
def probe(folder: Path, nothing_left: None) -> Probe:
    """Probe the script, with short turns; no process is left, whatever happens."""

    def call(
        *arguments: str, is_open: IsOpen | None = None, choose: Choose | None = None, **request: Any
    ) -> ProbeOutcome:
        command = (sys.executable, "train.py", *arguments)
        short: dict[str, Any] = {"turns": 2, "turn_s": 0.05, "budget_s": 20.0, "stacks": False, "steps": 200}
        asked = ProbeRequest(command=command, **{**short, **request})
        return run(asked, lambda what, done: None, is_open=is_open, choose=choose)

    return call


def refusal(probe: Probe, kind: type[CkptDoctorError], *arguments: str, **request: Any) -> CkptDoctorError:
    """The error of a probe that fails: one line, and the user's files as they were."""
    with pytest.raises(kind) as refused:
        probe(*arguments, **request)
    assert "\n" not in str(refused.value)
    assert Path("precious.txt").read_text() == PRECIOUS
    assert Path("kept/old.pt").read_text() == PRECIOUS
    return refused.value


def records(outcome: ProbeOutcome, *, ended: bool = True) -> tuple[RunRecord, RunRecord]:
    """Both recordings of a probe that went well, which are whole, also while the runs are held."""
    before, after = read_recording(outcome.before), read_recording(outcome.after)
    for record, arm in ((before, "before"), (after, "after")):
        assert record.meta.complete
        assert record.meta.arm == arm
        assert record.meta.checkpoint == str(outcome.checkpoint)
        assert len(record.ranks) == 1
        assert bool(list(outcome.before.parent.rglob("control-*"))) != ended
        check_parts(record.ranks[0].steps)
    return before, after


def steps_of(record: RunRecord) -> int:
    """How many steps a run took."""
    return len(record.ranks[0].steps)


def test_a_script_that_exits_at_once(probe: Probe) -> None:
    """Its exit code and its last lines are told."""
    error = refusal(probe, ScriptError, "--fault", "exit")
    assert str(error) == "the fresh run ended with exit code 7 before its first optimizer step"
    assert error.tail == ("begins", "it cannot go on")
    assert error.hint is None


def test_a_script_that_ends_well_without_a_step(probe: Probe) -> None:
    """It is told what counts as one: parameters may have been updated without an optimizer of torch."""
    error = refusal(probe, ScriptError, "--steps", "0")
    assert str(error) == "the fresh run ended with exit code 0 before its first optimizer step"
    assert error.hint is not None
    assert "Optimizer.step" in error.hint


def test_a_command_that_is_not_there(folder: Path, nothing_left: None) -> None:
    """It is told, and nothing has run."""
    request = ProbeRequest(command=("no-such-command",))
    with pytest.raises(ScriptError, match="no-such-command: No such file or directory"):
        run(request, lambda what, done: None)


def test_the_settings_of_both_runs(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads, a steady heap and the recording reach the script through its environment."""
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    error = refusal(probe, ScriptError, "--fault", "settings", threads=3, steady_heap=True)
    threads, trim, port, recording = ast.literal_eval(error.tail[-1])
    assert (threads, trim, port) == ("3", "1073741824", None)
    assert recording.endswith("before")
    error = refusal(probe, ScriptError, "--fault", "settings", output=Path("second"))
    assert ast.literal_eval(error.tail[-1])[:2] == ["1", None]


def test_a_script_that_hangs(probe: Probe) -> None:
    """A run without a step in time is ended, and the limit is named."""
    error = refusal(probe, ScriptError, "--fault", "hang", first_step_timeout_s=1.0)
    assert str(error) == "the fresh run took no optimizer step within 1 s"
    assert error.hint is not None
    assert "--first-step-timeout" in error.hint
    assert error.tail == ("begins",)


def test_a_script_that_ends_without_a_save(probe: Probe) -> None:
    """It is said how far it came, and what to do."""
    error = refusal(probe, ScriptError, "--fault", "unsaved", "--steps", "9")
    assert str(error) == "the fresh run ended after 9 steps without a save that was seen"
    assert error.hint is not None
    assert "--checkpoint-path" in error.hint


def test_a_script_that_goes_on_without_a_save(probe: Probe) -> None:
    """It is ended when the time for a save is up."""
    error = refusal(probe, ScriptError, "--fault", "unsaved", save_timeout_s=1.0)
    assert str(error).startswith("no checkpoint save was seen within 1 s (")
    assert error.hint is not None
    assert "--save-timeout" in error.hint


def test_two_resumes_in_a_row(probe: Probe) -> None:
    """What is compared has been resumed from what a resumed run saved, against the control's same steps."""
    outcome = probe("--fault", "again", resume_args="--resume {checkpoint}", resumes=2)
    before, after = records(outcome)
    assert (outcome.after / "stdout.log").read_text() == "resumes 2 at 12\n"
    assert (before.meta.origin_step, after.meta.origin_step) == (12, 0)
    assert steps_of(after) >= 8
    between = read_recording(outcome.after.parent / "between-1")
    assert (between.meta.ended_by, steps_of(between)) == (
        "doctor",
        7,
    )  # held at the end of the step of its save
    alone = [turn for turn in before.turns if turn.phase == "alone"]
    assert len(alone) == 2
    assert all(first.t_end_s <= second.t_start_s for first, second in pairwise(before.turns))


def test_two_resumes_of_one_save(probe: Probe) -> None:
    """Where no second save comes, that is said; a checkpoint that was given cannot be resumed twice."""
    error = refusal(
        probe,
        ScriptError,
        "--steps",
        "30",
        resume_args="--resume {checkpoint}",
        resumes=2,
        save_timeout_s=5.0,
    )
    assert str(error) == "the resumed run ended after 24 steps without a save that was seen"
    with pytest.raises(UsageError, match="--resumes"):
        probe("--fault", "again", checkpoint="kept/old.pt", resumes=2)


def test_wrong_arguments_on_resume(probe: Probe) -> None:
    """The script's own complaint about its arguments is shown, with the command that it was given."""
    error = refusal(probe, ScriptError, resume_args="--from {checkpoint}")
    assert str(error) == "the resumed run ended with exit code 2 before its first optimizer step"
    assert "unrecognized arguments: --from" in error.tail[-1]
    assert error.hint is not None
    assert "train.py --from" in error.hint


def test_a_resume_that_never_loads(probe: Probe) -> None:
    """A second run that starts afresh is no resumed run."""
    error = refusal(probe, ScriptError, "--fault", "forgetful", resume_args="--resume {checkpoint}")
    assert "never read" in str(error)
    assert "out/last.pt" in str(error)
    assert error.hint is not None
    assert "--resume-args" in error.hint


@pytest.mark.parametrize(("fault", "what"), [("overwrite", "overwrite"), ("delete", "delete")])
def test_a_script_that_would_destroy_a_file(probe: Probe, folder: Path, fault: str, what: str) -> None:
    """It is stopped before it does, and the file is named."""
    error = refusal(probe, ScriptError, "--fault", fault)
    path = folder / ("precious.txt" if fault == "overwrite" else "kept/old.pt")
    assert str(error).startswith(f"the script was about to {what} {path}, which was there before")
    assert error.hint is not None
    assert "--allow-overwrite" in error.hint


def test_a_save_over_a_file_that_was_there(probe: Probe, folder: Path) -> None:
    """A checkpoint does not take the place of an older one."""
    error = refusal(probe, ScriptError, "--fault", "save over")
    assert f"overwrite {folder / 'kept/old.pt'}" in str(error)


def test_an_output_that_holds_something(probe: Probe, folder: Path) -> None:
    """It is refused before anything runs."""
    error = refusal(probe, InputError, output=folder / "kept")
    assert "not empty" in str(error)
    assert not (folder / "out").exists()


def test_a_checkpoint_that_is_not_there(probe: Probe, folder: Path) -> None:
    """It is refused before anything runs."""
    error = refusal(probe, InputError, checkpoint="nowhere.pt")
    assert str(error) == "nowhere.pt: there is no such checkpoint"
    assert not (folder / "out").exists()


def test_a_script_that_ends_after_its_save_and_resumes_itself(probe: Probe, folder: Path) -> None:
    """The steps up to the save are the control; the same command again is the resumed run."""
    outcome = probe("--fault", "auto", "--steps", "7")
    before, after = records(outcome)
    assert outcome.checkpoint == folder / "out/last.pt"
    assert (before.meta.ended_by, before.meta.exit_code) == ("itself", 0)
    assert (steps_of(before), steps_of(after)) == (7, 1)
    assert next(after.ranks[0].events_of("load")).step == 0


def test_a_script_that_saves_in_its_own_way(probe: Probe, folder: Path) -> None:
    """A glob names what it saves, and reading it again counts as the load."""
    outcome = probe(
        *("--fault", "pickle"), checkpoint_path="out/*.pkl", resume_args="--resume {checkpoint}", steps=20
    )
    before, after = records(outcome)
    assert outcome.checkpoint == folder / "out/state.pkl"
    assert steps_of(before) > 6
    assert steps_of(after) > 1


def test_alternating_runs_from_a_given_checkpoint(probe: Probe, folder: Path) -> None:
    """One run after the other: the control first, then as many steps from the given checkpoint."""
    made = probe("--fault", "auto", "--steps", "7")
    given = folder / "given.pt"
    shutil.copy(made.checkpoint, given)
    content = given.read_bytes()
    outcome = probe(
        *("--fault", "unsaved"),
        checkpoint="given.pt",
        resume_args="--resume {checkpoint}",
        alternate=True,
        output=folder / "second",
    )
    before, after = records(outcome)
    assert outcome.checkpoint == given
    assert given.read_bytes() == content
    assert steps_of(before) - before.meta.origin_step == steps_of(after)  # type: ignore[operator]
    assert before.ranks[0].steps.t_end_s[-1] < after.ranks[0].started_s
    assert {turn.phase for turn in (*before.turns, *after.turns)} == {"alone"}


def test_two_runs_that_want_the_same_port(probe: Probe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where they cannot live side by side, they run one after the other, and that is said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TEST_PORT", str(free.getsockname()[1]))
    outcome = probe("--fault", "port", resume_args="--resume {checkpoint}")
    assert any("one after the other" in warning for warning in outcome.warnings)
    before, after = records(outcome)
    assert steps_of(after) == steps_of(before) - (before.meta.origin_step or 0)


@pytest.mark.parametrize("alternate", [False, True])
def test_a_resumed_run_that_fails_later(probe: Probe, alternate: bool) -> None:
    """An error after the resume is told, whether the runs take turns or not."""
    error = refusal(
        probe, ScriptError, "--fault", "late", resume_args="--resume {checkpoint}", alternate=alternate
    )
    assert str(error) == "the resumed run ended with exit code 1 after 8 steps"
    assert error.tail[-1] == "RuntimeError: late"


def test_two_runs_that_take_turns(probe: Probe) -> None:
    """Both runs live side by side and take equally many steps; one is held while the other runs."""
    outcome = probe(resume_args="--resume {checkpoint}", steps=40)
    before, after = records(outcome)
    assert before.meta.origin_step == 6
    assert after.meta.origin_step == 0
    assert steps_of(before) - 6 == steps_of(after)
    assert (before.meta.ended_by, after.meta.ended_by) == ("doctor", "doctor")
    turns = sorted((*before.turns, *after.turns), key=lambda turn: turn.t_start_s)
    interleaved = [turn for turn in turns if turn.phase == "interleaved"]
    assert len(interleaved) >= 4
    assert all(one.t_end_s <= two.t_start_s for one, two in pairwise(interleaved))
    for record in (before, after):
        steps = record.ranks[0].steps
        in_a_turn = [
            any(turn.t_start_s <= start and end <= turn.t_end_s + 0.1 for turn in record.turns)
            for start, end in zip(steps.t_start_s, steps.t_end_s, strict=True)
        ]
        assert all(in_a_turn[1:])


def trial(code: str, *, is_lasting: bool = True, warm: bool = False, **environment: str) -> Trial:
    """A trial that puts back nothing but variables, and the page cache where that is wanted."""
    put_back = PutBack(what="something", environment=environment, warm=warm)
    return Trial(code=code, is_lasting=is_lasting, put_back=put_back, cannot="Nothing.")


def test_causes_that_are_taken_away(probe: Probe) -> None:
    """Each in one more run from the same checkpoint, which takes turns with both; one that fails is told."""
    seen: list[int] = []

    def choose(outcome: ProbeOutcome) -> list[Trial]:
        seen.extend(steps_of(record) for record in records(outcome, ended=False))
        fragile = trial("CMP305", MALLOC_ARENA_MAX="1")
        return [fragile, trial("DAT203", warm=True), trial("CMP302", is_lasting=False)]

    outcome = probe(
        *("--fault", "fragile"), resume_args="--resume {checkpoint}", choose=choose, steps=40, turns=3
    )
    before, after = records(outcome)
    failed, lasting, once = outcome.trials
    assert (failed.recording, lasting.why_not, once.why_not) == (None, None, None)
    assert failed.why_not == "the treated run ended with exit code 9 before its first optimizer step"
    assert lasting.recording is not None
    assert once.recording is not None
    treated = read_recording(lasting.recording)
    assert (lasting.recording / "stdout.log").read_text() == "resumes 1 at 6\n"
    assert (treated.meta.arm, treated.meta.origin_step) == ("confirm-DAT203", 0)
    beside = [[t for t in record.turns if t.phase == "confirm-DAT203"] for record in (before, after, treated)]
    assert len(beside[0]) == len(beside[1]) == len(beside[2]) >= 2
    turns = sorted((turn for each in beside for turn in each), key=lambda turn: turn.t_start_s)
    assert all(one.t_end_s <= two.t_start_s for one, two in pairwise(turns))
    # It has caught up with the others before it takes turns with them, so all are at the same step.
    assert seen[1] == seen[0] - 6
    assert steps_of(treated) == steps_of(after) == steps_of(before) - 6
    assert steps_of(read_recording(once.recording)) == min(START_STEPS, steps_of(after))
    assert not (outcome.before.parent / "checkpoint").exists()


def test_a_checkpoint_that_is_saved_over(probe: Probe) -> None:
    """A treated run resumes from what the resumed run has resumed from, whatever was saved there since."""
    outcome = probe(
        *("--fault", "again"), resume_args="--resume {checkpoint}", choose=lambda _: [trial("CMP317", X="1")]
    )
    assert (outcome.after / "stdout.log").read_text() == "resumes 1 at 6\n"
    (done,) = outcome.trials
    assert done.recording is not None
    assert (done.recording / "stdout.log").read_text() == "resumes 1 at 6\n"


def test_the_checkpoint_is_read_as_it_was_saved(probe: Probe) -> None:
    """What the runs save over it later is not what the resumed run was given."""
    outcome = probe("--fault", "again", resume_args="--resume {checkpoint}")
    assert outcome.saved is not None
    assert outcome.saved.path == str(outcome.checkpoint)
    assert outcome.saved.progress["step"] == 6
    assert read_checkpoint(str(outcome.checkpoint)).progress["step"] > 6


def test_a_cause_that_is_taken_away_after_alternating_runs(probe: Probe) -> None:
    """Then the treated run is the third, and takes as many steps as the resumed one."""
    outcome = probe(
        resume_args="--resume {checkpoint}", alternate=True, choose=lambda _: [trial("CMP317", X="1")]
    )
    before, after = records(outcome)
    (done,) = outcome.trials
    assert done.recording is not None
    treated = read_recording(done.recording)
    assert steps_of(treated) == steps_of(after)
    assert before.ranks[0].steps.t_end_s[-1] < after.ranks[0].started_s
    assert after.ranks[0].steps.t_end_s[-1] < treated.ranks[0].started_s
    assert {turn.phase for record in (before, after, treated) for turn in record.turns} == {"alone"}


def output_of(recording: Path) -> str:
    """What a run printed."""
    return (recording / "stdout.log").read_text()


def test_further_pairs_of_processes(probe: Probe, folder: Path) -> None:
    """Each is a fresh run and one resumed from the first pair's checkpoint, and nothing of them is left."""
    outcome = probe("--fault", "again", resume_args="--resume {checkpoint}", steps=40, pairs=3)
    before, after = records(outcome)
    assert [(one.name, two.name) for one, two in outcome.pairs] == [
        ("before-2", "after-2"),
        ("before-3", "after-3"),
    ]
    earlier = after
    for one, two in outcome.pairs:
        fresh, again = read_recording(one), read_recording(two)
        assert (output_of(one), output_of(two)) == ("", "resumes 1 at 6\n")
        assert (fresh.meta.origin_step, again.meta.origin_step) == (6, 0)
        assert fresh.meta.checkpoint == again.meta.checkpoint == str(outcome.checkpoint)
        assert steps_of(fresh) - 6 == steps_of(again) > 0
        turns = [[turn for turn in run.turns if turn.phase == "interleaved"] for run in (fresh, again)]
        assert 0 < len(turns[0]) == len(turns[1]) <= len(after.turns)
        # One pair after the other: the earlier one has ended.
        assert earlier.ranks[0].steps.t_end_s[-1] < fresh.ranks[0].started_s
        earlier = again
    left = {path.name: path for path in (folder / "out").iterdir()}
    assert set(left) == {"last.pt"}
    assert left["last.pt"].stat().st_mtime < read_recording(outcome.pairs[0][0]).meta.created_unix_s
    assert before.meta.created_unix_s < left["last.pt"].stat().st_mtime


@pytest.mark.parametrize("more", [1, 3])
def test_pairs_nobody_asked_for(probe: Probe, more: int) -> None:
    """Where no number is given, there are more while the answer is open, but with 45 s three at most."""
    seen: list[int] = []

    def is_open(outcome: ProbeOutcome) -> bool:
        records(outcome)
        seen.append(len(outcome.pairs))
        return len(outcome.pairs) < more

    outcome = probe(is_open=is_open, resume_args="--resume {checkpoint}", turns=1, budget_s=45.0)
    assert [one.name for one, _ in outcome.pairs] == ["before-2", "before-3"][:more]
    assert seen == [0, 1, 2][: min(more + 1, 2)]
    assert outcome.warnings == ()


def test_as_many_pairs_as_asked_for(probe: Probe) -> None:
    """Where their number is given, nothing is asked."""
    wanted: dict[str, Any] = {"turns": 1, "pairs": 1, "budget_s": 45.0}
    outcome = probe(is_open=lambda _: True, resume_args="--resume {checkpoint}", **wanted)
    assert outcome.pairs == ()


@pytest.mark.parametrize("hinders", ["has_room", "is_worth_its_start"])
def test_no_pair_unasked_where_it_costs_much(
    probe: Probe, monkeypatch: pytest.MonkeyPatch, hinders: str
) -> None:
    """A large checkpoint is not copied, and a slow start not repeated, without being asked to."""
    monkeypatch.setattr(experiment, hinders, lambda *_: False)
    wanted: dict[str, Any] = {"turns": 1, "budget_s": 60.0}
    outcome = probe(resume_args="--resume {checkpoint}", is_open=lambda _: True, **wanted)
    assert (outcome.pairs, outcome.warnings) == ((), ())


def test_a_fresh_run_does_not_find_what_the_first_one_saved(probe: Probe) -> None:
    """A script that resumes by itself starts afresh in each pair; the first pair is held for what follows."""
    seen: list[int] = []

    def choose(outcome: ProbeOutcome) -> list[Trial]:
        records(outcome, ended=False)
        seen.append(len(outcome.pairs))
        return [trial("CMP317", X="1")]

    outcome = probe("--fault", "auto", choose=choose, pairs=2)
    before, after = records(outcome)
    ((fresh, again),) = outcome.pairs
    assert seen == [1]
    assert (output_of(fresh), output_of(again)) == ("", "resumes 1 at 6\n")
    (done,) = outcome.trials
    assert done.recording is not None
    runs = [before, after, read_recording(done.recording)]
    beside = [[turn for turn in run.turns if turn.phase == "confirm-CMP317"] for run in runs]
    assert len(beside[0]) == len(beside[1]) == len(beside[2]) >= 2


def test_pairs_of_alternating_runs(probe: Probe) -> None:
    """Where the runs take no turns, each fresh run comes to its end before the resumed one starts."""
    outcome = probe(resume_args="--resume {checkpoint}", alternate=True, turns=1, pairs=2)
    ((one, two),) = outcome.pairs
    fresh, again = read_recording(one), read_recording(two)
    assert fresh.ranks[0].steps.t_end_s[-1] < again.ranks[0].started_s
    assert steps_of(fresh) - 6 == steps_of(again)
    assert {turn.phase for run in (fresh, again) for turn in run.turns} == {"alone"}


def test_the_time_ends_before_all_pairs(probe: Probe) -> None:
    """The first pair is measured in any case; how many there are is told."""
    outcome = probe(resume_args="--resume {checkpoint}", pairs=3, budget_s=0.15)
    records(outcome)
    assert outcome.pairs == ()
    assert outcome.warnings[-1].startswith("1 of 3 pairs of processes measured: the time budget of")


@pytest.mark.parametrize(
    ("fault", "why"),
    [("once", "the fresh run ended with exit code 1 before"), ("copies", "the next fresh run has read ")],
)
def test_a_pair_that_fails(probe: Probe, fault: str, why: str) -> None:
    """What was measured until then stands, and it is said why there is no more."""
    resume_args = "--resume {checkpoint}" if fault == "once" else None
    outcome = probe("--fault", fault, resume_args=resume_args, pairs=2)
    records(outcome)
    assert outcome.pairs == ()
    assert outcome.warnings[-1].startswith(f"1 of 2 pairs of processes measured: {why}")
    assert outcome.checkpoint.exists()
