"""Joins the pieces: facts are read, rules judge them, a report comes out. The only place that knows all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ckpt_doctor.checks import engine, verdict
from ckpt_doctor.errors import CheckpointError, InputError, RecordingError, UsageError
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import Case, Finding, Report

if TYPE_CHECKING:
    from pathlib import Path

    from ckpt_doctor.facts.baseline import SavedReport
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.repair import RepairOutcome, RepairRequest
    from ckpt_doctor.facts.run import RunMeta, RunRecord
    from ckpt_doctor.facts.treatment import Confirmation, Trial
    from ckpt_doctor.probe.experiment import ProbeOutcome, TrialOutcome
    from ckpt_doctor.probe.request import ProbeRequest
    from ckpt_doctor.probe.turns import Progress
    from ckpt_doctor.readers.evidence import Hints


def inspect(paths: Sequence[str], policy: Policy) -> tuple[Report, tuple[CheckpointError, ...]]:
    """Read checkpoints and judge what they hold.

    Returns:
        The report on those that could be read, and an error for each that could not.
    """
    from ckpt_doctor.readers.inspection import read_all

    results = read_all(paths)
    facts = tuple(result for result in results if isinstance(result, CheckpointFacts))
    errors = tuple(result for result in results if isinstance(result, CheckpointError))
    return _inspection(facts, policy), errors


def treat(request: RepairRequest, policy: Policy) -> RepairOutcome:
    """Write a repaired copy of a checkpoint, which itself stays as it is.

    Raises:
        UsageError: The output cannot be used, or a rule is named that has no repair.
        InputError: The checkpoint cannot be read or loaded, or no copy is made of its kind.
        MachineError: torch is missing, or the copy cannot be written.
    """
    from ckpt_doctor.repairs.engine import repair

    asked = replace(policy, ignored=policy.ignored - request.only)
    return repair(request, lambda facts: _inspection((facts,), asked).findings)


def compare(
    before: str, after: str, policy: Policy, hints: Hints | None = None, progress: Progress | None = None
) -> Report:
    """Compare two runs and name what makes the second one slower, or two checkpoints.

    Runs are recordings, or what people have of them: traces, TensorBoard folders, tables, logs. Where the
    first is a report in JSON it is a baseline: of the second, a report or a checkpoint, only what is new is
    told.

    Args:
        before: The run before the resume, a checkpoint, or a report.
        after: The resumed run, a checkpoint, or a report.
        policy: The project's rules.
        hints: How evidence is read that does not explain itself.
        progress: Is told how much of a long trace has been read.

    Raises:
        InputError: One of them cannot be read, they are not of a kind, or hold too little to compare.
        UsageError: The hints make no sense.
    """
    from ckpt_doctor.readers.evidence import Hints, untold
    from ckpt_doctor.readers.reports import is_report
    from ckpt_doctor.readers.runs import read_runs

    if is_report(before):
        return _compare_with_baseline(before, after, policy)
    runs = read_runs(before, after, hints or Hints(), progress or untold)
    if runs is None:
        return _compare_checkpoints(before, after, policy)
    checkpoints, notes = _checkpoint_between(runs[1].meta)
    return _judge_runs("compare", runs, checkpoints, policy, {"before": before, "after": after}, notes)


def probe(request: ProbeRequest, policy: Policy, progress: Progress) -> Report:
    """Run a script fresh and resumed, and name what makes the resumed run slower.

    Raises:
        UsageError: The request contradicts itself.
        ScriptError: The script did not do what the measurement needs.
    """
    from ckpt_doctor.probe import experiment

    probed = _Probed(policy, progress)
    if request.confirm or request.suspects:
        trials = _Trials(request.suspects, policy, probed)
        return trials.report(experiment.run(request, progress, is_open=probed.is_open, choose=trials.choose))
    return probed.report(experiment.run(request, progress, is_open=probed.is_open))


def record(command: Sequence[str], output: Path) -> int:
    """Run a command with the agent inside, as it would run alone.

    Returns:
        Its own exit code; 128 + n where signal n ended it.

    Raises:
        InputError: The output folder is in use.
        ScriptError: The command cannot be started.
    """
    from ckpt_doctor.probe.recorder import run_recorded

    return run_recorded(command, output)


class _Probed:
    """Judges what a probe has measured so far; what was judged last is not judged again."""

    def __init__(self, policy: Policy, progress: Progress) -> None:
        self.policy = policy
        self.progress = progress
        self._last: tuple[ProbeOutcome, Report] | None = None

    def report(self, outcome: ProbeOutcome) -> Report:
        """The report on all pairs of processes."""
        if self._last is None or self._last[0] != outcome:
            self.progress("judging", None)
            self._last = outcome, _compare_probed(outcome, self.policy)
        return self._last[1]

    def is_open(self, outcome: ProbeOutcome) -> bool:
        """Whether more pairs of processes may give another answer."""
        report = self.report(outcome)
        assert report.comparison is not None
        return verdict.is_open(report.comparison, report.verdict)


class _Trials:
    """Chooses the causes that a probe takes away, and judges what came of it."""

    def __init__(self, suspects: Sequence[str], policy: Policy, probed: _Probed) -> None:
        from ckpt_doctor.agent import treating

        unknown = sorted(set(suspects) - set(treating.codes()))
        if unknown:
            raise UsageError(
                f"nothing takes the cause of {unknown[0]} away",
                hint=f"--suspect takes {', '.join(treating.codes())}",
            )
        self._suspects = tuple(suspects)
        self._policy = probed.policy
        self._probed = probed
        self._tested: dict[str, Finding] = {}
        """What is tested, by the rule's code."""
        self._confirmations: dict[str, Confirmation] = {}
        self._report: Report | None = None
        """The report before anything was taken away."""

    def choose(self, outcome: ProbeOutcome) -> Sequence[Trial]:
        """Judge both runs, and say which causes to take away."""
        from ckpt_doctor.agent import treating
        from ckpt_doctor.checks import confirming
        from ckpt_doctor.facts.treatment import NotTested

        report = self._report = self._probed.report(outcome)
        assert report.comparison is not None
        names = {rule.code: rule.name for rule in engine.catalogue()}
        trials: list[Trial] = []
        for finding in confirming.chosen(report.findings, names, self._suspects):
            self._tested[finding.code] = finding
            planned = treating.trial(finding, report.comparison)
            denied = confirming.needless(finding, planned, report)
            if denied is not None:
                self._confirmations[finding.code] = denied
            elif isinstance(planned, NotTested):
                self._confirmations[finding.code] = confirming.untested(planned)
            elif len(trials) < confirming.MOST_TRIALS or self._suspects:
                trials.append(planned)
            else:
                self._confirmations[finding.code] = confirming.untested(confirming.TOO_MANY)
        return trials

    def report(self, outcome: ProbeOutcome) -> Report:
        """The report with what the trials tell."""
        from ckpt_doctor.checks import confirming

        report = self._report
        assert report is not None
        assert report.comparison is not None
        self._probed.progress("judging", None)
        for done in outcome.trials:
            self._confirmations[done.trial.code] = self._judge(outcome, done, report.comparison)
        case = Case(
            comparison=report.comparison, checkpoints=report.checkpoints, required=self._policy.required
        )
        vain = [code for code, told in self._confirmations.items() if told.confirmed is False]
        again = _report("probe", case, self._policy, refuted=vain)
        findings = confirming.with_confirmations(
            again.findings, self._tested, self._confirmations, report.comparison
        )
        recordings = {t.trial.name: str(t.recording) for t in outcome.trials if t.recording is not None}
        return _with_checklist(
            replace(
                again,
                findings=findings,
                verdict=verdict.decide(case, findings),
                warnings=tuple(dict.fromkeys((*outcome.warnings, *report.warnings))),
                context={**report.context, **recordings},
            )
        )

    def _judge(self, outcome: ProbeOutcome, done: TrialOutcome, main: Comparison) -> Confirmation:
        """Whether what came back in a treated run confirms the cause."""
        from ckpt_doctor.agent import treating
        from ckpt_doctor.checks import confirming
        from ckpt_doctor.facts.treatment import NotTested
        from ckpt_doctor.readers.recordings import read_recording
        from ckpt_doctor.stats.recovery import recovered

        trial = done.trial
        if done.recording is None:
            return confirming.untested(NotTested(done.why_not or "it did not run"), trial)
        treatment = treating.treatment_of(trial.code)
        assert treatment is not None
        try:
            before, after, treated = map(read_recording, (outcome.before, outcome.after, done.recording))
            blamed_s = self._tested[trial.code].delta_s
            came_back = recovered(trial, main, (before, after, treated), blamed_s, treatment.cost_s)
        except RecordingError as error:
            return confirming.untested(NotTested(error.what), trial)
        if isinstance(came_back, NotTested):
            return confirming.untested(came_back, trial)
        return confirming.judged(trial, came_back)


def _inspection(checkpoints: tuple[CheckpointFacts, ...], policy: Policy) -> Report:
    return _report("inspect", Case(checkpoints=checkpoints, required=policy.required), policy)


def _compare_probed(outcome: ProbeOutcome, policy: Policy) -> Report:
    from ckpt_doctor.readers.recordings import read_recording

    runs = (read_recording(outcome.before), read_recording(outcome.after))
    further, notes = _further_pairs(outcome.pairs)
    context = {"before": str(outcome.before), "after": str(outcome.after)}
    saved = () if outcome.saved is None else (outcome.saved,)
    return _judge_runs("probe", runs, saved, policy, context, (*outcome.warnings, *notes), further)


def _further_pairs(pairs: Sequence[tuple[Path, Path]]) -> tuple[list[Comparison], list[str]]:
    """Further pairs of processes, and why some of them are left out."""
    from ckpt_doctor.readers.recordings import read_recording
    from ckpt_doctor.stats.comparison import compare_runs

    found: list[Comparison] = []
    notes: list[str] = []
    for before, after in pairs:
        try:
            found.append(compare_runs(read_recording(before), read_recording(after)))
        except RecordingError as error:
            notes.append(f"a pair of processes is left out: {error.what}")
    return found, notes


def _judge_runs(
    command: str,
    runs: tuple[RunRecord, RunRecord],
    checkpoints: tuple[CheckpointFacts, ...],
    policy: Policy,
    context: dict[str, str],
    warnings: Sequence[str],
    further: Sequence[Comparison] = (),
) -> Report:
    from ckpt_doctor.stats.comparison import compare_runs
    from ckpt_doctor.stats.pairs import over_pairs

    comparison = over_pairs(compare_runs(*runs), further)
    case = Case(comparison=comparison, checkpoints=checkpoints, required=policy.required)
    told = dict.fromkeys((*warnings, *runs[0].notes, *runs[1].notes))
    return _with_checklist(_report(command, case, policy, warnings=tuple(told), context=context))


def _compare_checkpoints(before: str, after: str, policy: Policy) -> Report:
    from ckpt_doctor.readers.inspection import read_checkpoint
    from ckpt_doctor.readers.runs import TWO_OF_A_KIND
    from ckpt_doctor.stats.checkpoints import compare_checkpoints

    try:
        earlier, later = read_checkpoint(before), read_checkpoint(after)
    except CheckpointError as error:
        raise InputError(
            f"{error.what}; it is no recording or trace either", hint=error.hint or TWO_OF_A_KIND
        ) from error
    case = Case(
        checkpoints=(earlier, later),
        required=policy.required,
        checkpoint_comparison=compare_checkpoints(earlier, later),
    )
    return _report("compare", case, policy, context={"before": before, "after": after})


def _compare_with_baseline(before: str, after: str, policy: Policy) -> Report:
    from ckpt_doctor.checks import baseline
    from ckpt_doctor.readers.reports import read_report
    from ckpt_doctor.stats.baseline import against_baseline

    earlier = read_report(before)
    later, checkpoints = _later(after, policy)
    kept = tuple(finding for finding in later.findings if finding.code not in policy.ignored)
    delta = against_baseline(earlier, kept, later.ratio)
    context = {"baseline": before, "after": after}
    for name, codes in (("known", {finding.code for finding in delta.known}), ("gone", set(delta.gone))):
        if codes:
            context[name] = ", ".join(sorted(codes))
    return Report(
        command="compare",
        verdict=baseline.decide(delta, later.verdict, earlier.ratio, later.ratio),
        findings=delta.new,
        not_evaluated=later.not_evaluated,
        checkpoints=checkpoints,
        context=context,
        policy=policy,
    )


def _later(path: str, policy: Policy) -> tuple[SavedReport, tuple[CheckpointFacts, ...]]:
    """What is held against a baseline: a report that was written, or one on a checkpoint, made now."""
    from ckpt_doctor.facts.baseline import SavedReport
    from ckpt_doctor.readers.reports import is_report, read_report
    from ckpt_doctor.readers.runs import TWO_OF_A_KIND

    if is_report(path):
        return read_report(path), ()
    report, errors = inspect((path,), policy)
    if errors:
        raise InputError(f"{errors[0].what}; it is no report either", hint=errors[0].hint or TWO_OF_A_KIND)
    saved = SavedReport(path, report.verdict, None, report.findings, report.not_evaluated)
    return saved, report.checkpoints


def _checkpoint_between(after: RunMeta) -> tuple[tuple[CheckpointFacts, ...], tuple[str, ...]]:
    """What the checkpoint holds that a recorded run was resumed from, if it is still that one."""
    from ckpt_doctor.readers.inspection import read_checkpoint, written_since

    if after.checkpoint is None:
        return (), ()
    if written_since(after.checkpoint, after.created_unix_s):
        return (), (f"{after.checkpoint} is not inspected: it has been saved over since the resume",)
    try:
        return (read_checkpoint(after.checkpoint),), ()
    except CheckpointError as error:
        return (), (f"the checkpoint could not be inspected: {error}",)


def _report(
    command: str,
    case: Case,
    policy: Policy,
    warnings: Sequence[str] = (),
    context: dict[str, str] | None = None,
    refuted: Sequence[str] = (),
) -> Report:
    findings, not_evaluated = engine.judge(case, refuted)
    kept = tuple(
        finding for finding in findings if finding.code not in policy.ignored and _is_asked(finding, case)
    )
    return Report(
        command=command,
        verdict=verdict.decide(case, kept),
        findings=kept,
        not_evaluated=not_evaluated,
        comparison=case.comparison,
        checkpoints=case.checkpoints,
        warnings=tuple(warnings),
        context=context or {},
        checkpoint_comparison=case.checkpoint_comparison,
        policy=policy,
    )


def _with_checklist(report: Report) -> Report:
    """The report with the checklist at its end, where two recordings were compared."""
    comparison = report.comparison
    if comparison is None or RECORDING in comparison.not_measured:
        return report
    from ckpt_doctor.checks import checklist
    from ckpt_doctor.facts.checklist import ChecklistCase
    from ckpt_doctor.readers.guards import find_guards

    guards = find_guards(comparison.after.run.meta)
    return replace(report, checklist=checklist.judge(ChecklistCase(report, comparison, guards)))


def _is_asked(finding: Finding, case: Case) -> bool:
    """Whether a finding is about what was asked: the earlier of two checkpoints is only held against."""
    comparison = case.checkpoint_comparison
    return (
        comparison is None or finding.checkpoint != comparison.before or comparison.before == comparison.after
    )
