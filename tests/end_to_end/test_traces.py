"""Traces of fixtures, made by torch.profiler as people make them, name the side on which a fault lies.

The clock of a test run meets a busy machine: then a trace is inconclusive, and never names another side. What
is counted in the steps has to be right on any machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Report, Severity, Side, Status
from tests.structure.source import ROOT
from tests.traced import trace_pair

SCRIPTS = ROOT / "fixtures" / "scripts"
TRACES = ROOT / "fixtures" / "traces"
REAL = ROOT.parent / "shared" / "traces"


@dataclass(frozen=True)
class Traced:
    """A script, with a fault or without one, and how it is resumed."""

    script: str
    arguments: tuple[str, ...]
    resume: tuple[str, ...]
    save_step: int
    side: Side
    with_stack: bool = False
    active: int = 60

    @property
    def name(self) -> str:
        """What the test is called."""
        fault = next(
            (word.partition("=")[2] for word in self.arguments if word.startswith("--fault")), "healthy"
        )
        return f"{self.script.removesuffix('.py')}-{fault}{'-stacks' if self.with_stack else ''}"


OUT = "--out={out}"
HEALTHY = (
    Traced("image_classify.py", (OUT,), ("--resume={checkpoint}",), 80, Side.NONE),
    Traced("recommender.py", (OUT,), ("--from-checkpoint={checkpoint}",), 150, Side.NONE),
)
FAULTY = (
    Traced(
        "image_folder.py",
        (OUT, "--data-dir={data}", "--workers=0", "--fault=drop-behind"),
        ("--resume={checkpoint}",),
        200,
        Side.DATA,
    ),
    Traced("image_classify.py", (OUT, "--fault=fewer-workers"), ("--resume={checkpoint}",), 80, Side.DATA),
    Traced(
        "stream_epochs.py", (OUT, "--fault=respawn"), ("--restore={checkpoint}",), 150, Side.DATA, active=90
    ),
    Traced(
        "recommender.py",
        (OUT, "--fault=float64-state"),
        ("--from-checkpoint={checkpoint}",),
        150,
        Side.COMPUTE,
    ),
    Traced("grad_accum.py", (OUT, "--fault=accumulate"), ("--resume={checkpoint}",), 100, Side.WORK),
)
KEPT = (HEALTHY[1], FAULTY[0], FAULTY[3])
"""Whose traces, made on a quiet machine, lie in fixtures/traces: see generate.py there."""
STACKS = Traced(
    "stream_epochs.py",
    (OUT, "--fault=respawn"),
    ("--restore={checkpoint}",),
    150,
    Side.DATA,
    with_stack=True,
    active=90,
)


def compared(case: Traced, folder: Path) -> Report:
    """The report on the two traces of a script."""
    before, after = trace_pair(
        folder,
        SCRIPTS / case.script,
        list(case.arguments),
        list(case.resume),
        save_step=case.save_step,
        active=case.active,
        with_stack=case.with_stack,
    )
    report = doctor.compare(str(before), str(after), Policy())
    assert report.comparison is not None
    assert len(report.comparison.after.rank.steps) == case.active
    return report


def counted(report: Report, name: str) -> tuple[float | None, float | None]:
    """A counter per step on both sides."""
    assert report.comparison is not None
    counter = report.comparison.counter(name)
    assert counter is not None
    return counter.before, counter.after


@pytest.mark.long
@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: case.name)
def test_healthy(case: Traced, tmp_path: Path) -> None:
    """A resume that is as fast as before is not called slower, and does the same in every step."""
    report = compared(case, tmp_path)
    assert report.verdict.status in (Status.SAME, Status.FASTER, Status.INCONCLUSIVE), report.verdict
    for name in ("batches", "backwards", "optimizer_steps"):
        before, after = counted(report, name)
        assert before == pytest.approx(after, rel=0.1), name
        assert after or name == "batches"


@pytest.mark.long
@pytest.mark.parametrize("case", FAULTY, ids=lambda case: case.name)
def test_faulty(case: Traced, tmp_path: Path) -> None:
    """A fault is found on its side, or not at all."""
    report = compared(case, tmp_path)
    if report.verdict.status is Status.SLOWER:
        # Workers that start also take the cores from the steps that follow.
        assert report.verdict.side in (case.side, Side.NOT_ESTABLISHED), report.verdict
    else:
        assert report.verdict.status is Status.INCONCLUSIVE, report.verdict
    if case.side is Side.WORK:
        assert counted(report, "backwards") == (2.0, 4.0)
        before, after = counted(report, "multiply_adds")
        assert before is not None
        assert after == pytest.approx(2 * before)
    elif case.side is not Side.DATA:
        assert report.comparison is not None
        grown = max(report.comparison.budget, key=lambda part: part.delta.value)
        assert grown.part == "optimizer"


@pytest.mark.long
def test_workers_that_start_again(tmp_path: Path) -> None:
    """With stacks a trace shows the starts of workers: the cause has a name, and not only a side."""
    report = compared(STACKS, tmp_path)
    assert report.comparison is not None
    starts = [
        list(window.rank.events_of("worker_start"))
        for window in (report.comparison.before, report.comparison.after)
    ]
    assert starts[0] == []
    assert len(starts[1]) >= 3
    assert {event.fields["workers"] for event in starts[1]} == {2}
    assert "DAT204" not in {item.code for item in report.not_evaluated}
    if report.verdict.status is Status.SLOWER:
        assert report.verdict.cause == "DAT204"


@pytest.mark.parametrize("case", KEPT, ids=lambda case: case.name)
def test_on_a_quiet_machine(case: Traced) -> None:
    """Traces that no neighbour disturbed name the side of a fault, and call a healthy resume as fast."""
    before, after = (str(TRACES / case.name / f"{arm}.json.gz") for arm in ("before", "after"))
    report = doctor.compare(before, after, Policy())
    status = Status.SAME if case.side is Side.NONE else Status.SLOWER
    assert (report.verdict.status, report.verdict.side) == (status, case.side), report.verdict


@pytest.mark.skipif(not REAL.is_dir(), reason="the real GPU traces are not here")
@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        ("a100_eager_rank3", "v100_compiled_cudagraph_rank1", True),
        ("v100_compiled_cudagraph_rank1", "a100_eager_rank3", True),
        ("a100_compiled_cudagraph_rank0", "a100_eager_rank3", True),
        ("a100_eager_rank3", "a100_eager_rank3", False),
    ],
)
def test_gpus(before: str, after: str, differs: bool) -> None:
    """Runs on other GPUs, with other numbers of ranks, are said to be so, and nothing is blamed."""
    report = doctor.compare(str(REAL / f"{before}.json.gz"), str(REAL / f"{after}.json.gz"), Policy())
    assert report.verdict.status is Status.INCONCLUSIVE
    assert report.verdict.cause is None
    told = {finding.code: finding for finding in report.findings}
    assert not [finding for finding in report.findings if finding.severity is Severity.ERROR]
    assert ("HST404" in told) == ("MSR905" in told) == differs
    if differs:
        assert "A100" in told["HST404"].summary
        assert "ranks" in told["MSR905"].summary
