"""MSR905: two experiments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide
from ckpt_doctor.cli.exit_codes import exit_code
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Case, Severity, Status
from ckpt_doctor.facts.run import RunRecord
from tests.builders import control, event, make_case, one, resumed
from tests.conftest import Record

ELEMENTS = "model.trainable_elements"


def _started(run: RunRecord, *words: str) -> RunRecord:
    return replace(run, meta=replace(run.meta, command=("python", "train.py", *words)))


def _is_doubted(case: Case) -> bool:
    findings, _ = judge(case)
    verdict = decide(case, findings)
    told = one(findings, "MSR905").severity is Severity.WARNING
    assert told == (verdict.status is Status.INCONCLUSIVE), verdict
    if told:
        assert verdict.next_step is not None
        assert verdict.cause is None
    return told


def test_half_the_batch_at_the_same_speed_is_no_health() -> None:
    """Half the work in the same time is a slowdown that the step time does not show."""
    assert _is_doubted(make_case(control(), resumed(counters={"samples": 16, "elements": 500})))


def test_twice_the_batch_in_longer_steps_is_a_finding() -> None:
    """More work explains longer steps: WRK501 says so."""
    parts = {"data_wait": 0.002, "forward": 0.006, "backward": 0.008}
    case = make_case(control(), resumed(0.018, parts=parts, counters={"elements": 2000, "samples": 64}))
    assert [f.code for f in judge(case)[0]] == ["WRK501"]


def test_half_the_batch_in_longer_steps_is_slower_all_the_more() -> None:
    """Less work explains nothing."""
    after = resumed(0.018, parts={"data_wait": 0.009}, counters={"samples": 16})
    codes = [f.code for f in judge(make_case(control(), after))[0]]
    assert codes == ["DAT209"]


def test_a_replay_is_no_other_batch_size() -> None:
    """Batches that are drawn and dropped are of the same size."""
    twice = {"batches": 2, "samples": 64, "elements": 2000}
    assert judge(make_case(control(), resumed(counters=twice)))[0] == ()


@pytest.mark.parametrize("size", [5 * 10**6, 2 * 10**7])
def test_another_model_is_another_experiment(size: int) -> None:
    """Smaller or larger: where the arguments differ as well, or nothing is slower."""
    before, after = {ELEMENTS: 10**7}, {ELEMENTS: size}
    assert _is_doubted(make_case(control(values=before), resumed(values=after)))
    wider = _started(resumed(0.02, values=after), "--width", "2048")
    assert _is_doubted(make_case(_started(control(values=before), "--width", "1024"), wider))


def test_another_number_of_ranks_or_another_script_is_another_experiment() -> None:
    """However long the steps are."""
    ranks = [{"env.WORLD_SIZE": "2"}, {"env.WORLD_SIZE": "1"}]
    assert _is_doubted(make_case(control(values=ranks[0]), resumed(0.02, values=ranks[1])))
    other = replace(resumed(0.02), meta=replace(resumed().meta, command=("python", "finetune.py")))
    assert _is_doubted(make_case(control(), other))
    alone = make_case(control(values=ranks[1]), resumed())
    assert judge(alone)[0] == ()


def test_other_arguments_leave_the_clock_nothing_to_prove() -> None:
    """Slower or not: with another sequence length the clock alone says nothing."""
    arms = (
        _started(control(), "--seq-len", "512"),
        _started(resumed(), "--seq-len=1024", "--resume", "c.pt"),
    )
    assert _is_doubted(make_case(*arms))
    slower = _started(resumed(0.02, counters={"user_s": 0.019}), "--seq-len=1024")
    assert _is_doubted(make_case(arms[0], slower))


def test_a_cause_that_a_counter_proves_stands_beside_other_arguments() -> None:
    """Fewer workers by the command line are a finding, and the arguments are mentioned."""
    fewer: dict[str, Any] = {"parts": {"data_wait": 0.009}, "values": {"loader.0.num_workers": 0}}
    case = make_case(
        _started(control(), "--workers", "2"), _started(resumed(0.018, **fewer), "--workers", "0")
    )
    findings, _ = judge(case)
    assert one(findings, "MSR905").severity is Severity.INFO
    assert decide(case, findings).cause == "DAT205"


def test_a_resume_by_its_own_arguments_is_the_same_experiment() -> None:
    """What resumes, where things go and how long it lasts is no other work."""
    words = ("--resume", "c.pt", "--out", "runs/b", "--start-epoch", "3")
    assert judge(make_case(_started(control(), "--out", "runs/a"), _started(resumed(), *words)))[0] == ()


def test_inputs_of_one_size_without_a_loader_are_compared() -> None:
    """Where all steps that were looked at have the same input, another one is other work."""
    absent = dict.fromkeys(("elements", "samples", "batches"), 0)
    sides = [[event("model_input", 60 + i, elements=size) for i in range(20)] for size in (512, 256)]
    before, after = control(counters=absent, events=sides[0]), resumed(counters=absent, events=sides[1])
    assert _is_doubted(make_case(before, after))


SIZED = """
import sys, torch
torch.manual_seed(0)
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(40):
    optimizer.zero_grad()
    model(torch.ones(int(sys.argv[2]), 64)).sum().backward()
    optimizer.step()
"""


def test_two_recorded_runs_with_other_batches(record: Record) -> None:
    """Runs that nobody resumed, of another batch size: said so, and without a verdict."""
    folders = [str(record(SIZED, "--batch", size).folder) for size in ("256", "32")]
    report = doctor.compare(*folders, Policy())
    assert report.verdict.status is Status.INCONCLUSIVE
    assert "batch 256 -> 32" in one(report.findings, "MSR905").summary
    assert exit_code(report, Policy()) == 3
