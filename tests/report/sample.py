"""Reports as the commands make them, with any part replaceable."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ckpt_doctor.facts.checklist import ChecklistItem, ItemStatus
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts, ParamGroupFacts, TensorEntry
from ckpt_doctor.facts.checkpoint_comparison import Change, CheckpointComparison, SizeChange
from ckpt_doctor.facts.comparison import (
    Comparison,
    Contention,
    CounterDelta,
    FingerprintChange,
    Interference,
    Interval,
    LineDelta,
    OrderCheck,
    PartDelta,
    RankDelta,
    Shape,
    StartCost,
    Window,
)
from ckpt_doctor.facts.report import (
    Confidence,
    Evidence,
    Finding,
    Location,
    NotEvaluated,
    Report,
    Severity,
    Side,
    Status,
    Verdict,
)
from ckpt_doctor.facts.run import Event, RankRecord, RunMeta, RunRecord, SourceLine, StepSeries, Turn
from ckpt_doctor.facts.states import Presence, PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.stats.comparison import compare_runs
from tests.builders import SAVED_AT, control, event, resumed


def cold_cache(**changes: Any) -> Finding:
    """A finding of a cold page cache."""
    finding = Finding(
        code="DAT203",
        name="cold-page-cache",
        severity=Severity.ERROR,
        side=Side.DATA,
        summary="After the resume each step reads 12.4 MB from the disk, before it 0 B.",
        remedy="Restore the sampler's order, so that the pages that are still cached are read again.",
        evidence=(
            Evidence("physical bytes read per step, before", 0, "bytes/step", "/proc"),
            Evidence("physical bytes read per step, after", 12_400_000.0, "bytes/step", "/proc"),
            Evidence("data wait per step", 0.0177, "s/step", "agent"),
        ),
        confidence=Confidence.CONFIRMED,
        share_ratio=0.96,
        delta_s=0.0171,
        shape=Shape.STEADY,
        location=Location("train.py", 42),
    )
    return replace(finding, **changes)


def order_lost(**changes: Any) -> Finding:
    """A finding of a data order that was not restored, which costs no time of its own."""
    finding = Finding(
        code="DAT201",
        name="data-order-not-restored",
        severity=Severity.WARNING,
        side=Side.DATA,
        summary="The resumed run sees other samples from its first step on.",
        remedy="Save and restore the sampler's epoch and generator.",
        evidence=(Evidence("first step with other data", 0, None, "agent"),),
    )
    return replace(finding, **changes)


def window(arm: str, step_s: float, samples_per_s: float | None = 640.0) -> Window:
    """Sixty steps of one arm."""
    series = StepSeries((), (), {}, (), {}, (), "indices")
    rank = RankRecord(0, "node", 4242, series, (), (), 0.0, False, 0.00002)
    meta = RunMeta(
        path=f"runs/probe/{arm}",
        command=("python", "train.py", "--out", "runs/x"),
        cwd="/home/user",
        host="node",
        created_unix_s=1.0,
        arm=arm,
        complete=True,
        ended_by="doctor",
        exit_code=None,
        checkpoint="runs/x/last.pt",
    )
    turns = tuple(Turn(float(t), t + 0.5, "interleaved", False) for t in range(12))
    return Window(RunRecord(meta, (rank,), turns=turns), rank, 40, 100, 40, step_s, samples_per_s)


def comparison(**changes: Any) -> Comparison:
    """A resumed run that waits for the disk: 33.4 against 51.2 ms per step."""
    parts = {
        "data_wait": (0.0012, 0.0189),
        "compile": (0.0, 0.0),
        "forward": (0.0101, 0.0102),
        "backward": (0.0152, 0.0151),
        "optimizer": (0.0040, 0.0041),
        "gc": (0.0, 0.0),
        "saving": (0.0, 0.0),
        "rest": (0.0029, 0.0029),
    }
    budget = tuple(
        PartDelta(
            part, before, after, Interval(after - before, after - before - 0.0004, after - before + 0.0004)
        )
        for part, (before, after) in parts.items()
    )
    result = Comparison(
        before=window("before", sum(b for b, _ in parts.values()), 958.1),
        after=window("after", sum(a for _, a in parts.values()), 625.0),
        ratio=Interval(1.53, 1.49, 1.57),
        detectable_ratio=1.04,
        effect_floor_ratio=1.05,
        budget=budget,
        counters={
            "physical_read_bytes": CounterDelta("physical_read_bytes", "bytes", 0.0, 12_400_000.0),
            "major_faults": CounterDelta("major_faults", "1", None, None),
        },
        changes=(FingerprintChange("loader.0.num_workers", 2, None),),
        shape=Shape.STEADY,
        before_start=StartCost(4.1, 2.1, None, 0.9, None, None, 1),
        after_start=StartCost(6.3, 2.1, 0.3, 1.0, 2.8, None, 41),
        order=OrderCheck(False, 60, 0, 0, "indices"),
        contention=Contention(0.01, 0.02, 0.1, 0.1, None),
        interference=Interference(0.0334, 0.0337, Interval(1.01, 0.98, 1.03), 0.0, 0.0),
        lines=(LineDelta(SourceLine("train.py", 42, "load"), 0.001, 0.018),),
        ranks=(RankDelta(0, 0.0334, 0.0512, None, None),),
        slow_rank=None,
        paired=True,
        agent_per_step_s=0.00004,
        sampler_ratio=1.01,
        not_measured={"cuda_events": "no CUDA device"},
    )
    return replace(result, **changes)


def checkpoint(**changes: Any) -> CheckpointFacts:
    """A checkpoint without sampler state."""
    states = {kind: Presence(PresenceStatus.UNKNOWN, why="no key looks like it") for kind in StateKind}
    states[StateKind.MODEL] = Presence(PresenceStatus.PRESENT, where="model")
    states[StateKind.OPTIMIZER] = Presence(PresenceStatus.PRESENT, where="optimizer")
    states[StateKind.SAMPLER_RNG] = Presence(
        PresenceStatus.ABSENT, PresenceDetail.NEVER_BY_FRAMEWORK, why="no generator state", remedy="save it"
    )
    facts = CheckpointFacts(
        path="runs/x/last.pt",
        format="torch_zip",
        layout="generic",
        size_bytes=12_345_678,
        read_bytes=4321,
        states=states,
        tensors=(TensorEntry("model.weight", "float32", (3, 4), "cpu", "0", 96, 48),),
        optimizers=(
            OptimizerFacts(
                where="optimizer",
                algorithm="Adam/AdamW",
                groups=(ParamGroupFacts(2, {"lr": 1e-3, "betas": (0.9, 0.999), "foreach": None}),),
                entries=2,
                state_bytes=800,
                expected_bytes=400,
                dtypes={"float64": 800},
                devices={"cpu": 800},
            ),
        ),
        progress={"step": 40},
    )
    return replace(facts, **changes)


def checklist() -> tuple[ChecklistItem, ...]:
    """What came of the items for a cold page cache whose order of data was lost."""
    checked, failed, unknown = ItemStatus.CHECKED, ItemStatus.FAILED, ItemStatus.NOT_EVALUATED
    rows = (
        ("function-and-loss", unknown, "no loss seen; assert_resumable tests it", ("DAT201", "CMP309")),
        ("more-than-model-saved", unknown, "scheduler: no key looks like it", ("STA102", "STA101")),
        ("persistent-workers", checked, "on; no start within 60 steps", ("DAT204", "DAT205")),
        ("recompiles-and-graphs", unknown, "no CUDA device", ("CMP304", "CMP301")),
        ("state-restored", failed, "data order not restored", ("DAT201", "CMP305", "CMP306")),
        ("step-times-compared", checked, "1.53× slower, data side", ("DAT203", "MSR901")),
        ("guard-in-ci", failed, "no call of ckpt-doctor in .github/workflows/ci.yml", ("STA146",)),
    )
    return tuple(
        ChecklistItem(name=name, title=name.replace("-", " "), status=status, sentence=sentence, codes=codes)
        for name, status, sentence, codes in rows
    )


def probe_report(**changes: Any) -> Report:
    """The report of a probe that found a cold page cache."""
    report = Report(
        command="probe",
        verdict=Verdict(
            status=Status.SLOWER,
            side=Side.DATA,
            cause="DAT203",
            confidence=Confidence.CONFIRMED,
            sentence="The resumed run takes 51.2 ms per step instead of 33.4 ms, waiting for the disk.",
        ),
        findings=(order_lost(), cold_cache()),
        not_evaluated=(
            NotEvaluated("CMP304", "no CUDA device"),
            NotEvaluated("MSR903", "the stack sampler was off"),
        ),
        comparison=comparison(),
        checkpoints=(checkpoint(),),
        warnings=("The page cache could not be put back.",),
        context={"recordings": "runs/probe"},
        checklist=checklist(),
    )
    return replace(report, **changes)


def inspect_report(**changes: Any) -> Report:
    """The report of an inspection, where nothing was run."""
    report = Report(
        command="inspect",
        verdict=Verdict(
            status=Status.FINDINGS,
            side=Side.NONE,
            cause=None,
            confidence=None,
            sentence="A run that resumes from this checkpoint cannot restore its data order.",
        ),
        findings=(order_lost(code="STA111", name="sampler-state-absent", checkpoint="runs/x/last.pt"),),
        not_evaluated=(),
        checkpoints=(checkpoint(),),
    )
    return replace(report, **changes)


def foreign_report(words: str) -> Report:
    """A report all of whose texts from outside are these words."""
    finding = cold_cache(
        summary=words,
        remedy=words,
        evidence=(Evidence(words, words, None, words),),
        location=Location(words, 1),
        checkpoint=words,
    )
    changed = CheckpointComparison(
        words,
        words,
        {StateKind.SCHEDULER: words},
        {},
        (Change(words, words, None),),
        (SizeChange(words, 1, 2),),
    )
    runs = comparison(
        changes=(FingerprintChange(words, words, words),),
        lines=(LineDelta(SourceLine(words, 1, words), 0.0, 1.0),),
        not_measured={words: words},
    )
    return probe_report(
        findings=(finding,),
        checkpoints=(checkpoint(path=words, layout=words, notes=(words,)),),
        checkpoint_comparison=changed,
        warnings=(words,),
        context={words: words},
        not_evaluated=(NotEvaluated("CMP304", words),),
        comparison=runs,
        checklist=tuple(replace(item, title=words, sentence=words) for item in checklist()),
    )


def measured_report(**changes: Any) -> Report:
    """The report of a probe with everything that was measured in it: steps, turns, events, samples, stacks.

    The resumed run waits 8 ms longer for its data at every step, and its workers start anew twice.
    """
    reads = {"physical_read_bytes": 12_400_000, "logical_read_bytes": 12_400_000}
    before = control(
        events=(
            event("loader", 0, None, file="/home/user/train.py", line=40, kind="DataLoader"),
            event("loop", 0, None, file="/home/user/train.py", line=44),
            event("compile", 3, 0.4, trigger="forward"),
            event("save", SAVED_AT - 1, 0.05, path="runs/x/last.pt", file="/home/user/train.py", line=50),
        ),
        lines={("/home/user/train.py", 42): 0.001, ("/home/user/model.py", 7): 0.002},
        alone_turns=3,
    )
    after = resumed(
        0.018,
        parts={"data_wait": 0.009},
        sampled=reads,
        events=(
            event("load", 0, 0.2, path="runs/x/last.pt", file="/home/user/train.py", line=30),
            event("loop", 0, None, file="/home/user/train.py", line=44),
            event("worker_start", 1, 0.1, workers=2, file="/home/user/train.py", line=41),
            event("worker_start", 90, 0.1, workers=2, file="/home/user/train.py", line=41),
        ),
        lines={("/home/user/train.py", 42): 0.007, ("/home/user/model.py", 7): 0.004},
    )
    runs = [_with_times(run) for run in (before, after)]
    return probe_report(comparison=compare_runs(*runs), **changes)


def _with_times(run: RunRecord) -> RunRecord:
    """The run with each event at the end of its step."""
    rank = run.ranks[0]
    events: tuple[Event, ...] = tuple(replace(e, t_s=rank.steps.t_end_s[e.step]) for e in rank.events)
    return replace(run, ranks=(replace(rank, events=events),))
