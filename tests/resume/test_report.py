"""What a resume says of itself."""

from __future__ import annotations

from ckpt_doctor.resume import Outcome, PartReport, RankReport, ResumeReport

MODEL = PartReport("model", Outcome.RESTORED, notes=("one thing is different",))
LOST = PartReport("torch_rng", Outcome.NOT_SAVED, "the save had fewer ranks")
SPARE = PartReport("ema", Outcome.NOT_USED)


def test_lines() -> None:
    """Everything that is not simply restored has a line of its own, with its rank."""
    ranks = (RankReport(0, (MODEL, SPARE)), RankReport(1, (MODEL, LOST)))
    report = ResumeReport(5, 1, ranks, "run/step-00000005", (("step-00000006", "state.pt is missing"),))
    assert report.lines() == [
        "resumed from run/step-00000005 at step 5, epoch 1",
        "passed over step-00000006: state.pt is missing",
        "rank 0: restored: model",
        "rank 0: model: one thing is different",
        "rank 0: not used: ema",
        "rank 1: restored: model",
        "rank 1: model: one thing is different",
        "rank 1: not saved: torch_rng (the save had fewer ranks)",
    ]


def test_complete() -> None:
    """A resume is complete when each rank has its own back; what the checkpoint holds beyond is no loss."""
    assert ResumeReport(1, 0, (RankReport(0, (MODEL, SPARE)),)).complete
    assert not ResumeReport(1, 0, (RankReport(0, (MODEL,)), RankReport(1, (LOST,)))).complete
