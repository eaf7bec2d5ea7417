"""The resumed run is fed other data than the uninterrupted run was fed at the same steps.

What it means
-------------
The sampler's epoch, seed, generator or position did not come back. The run is not slower, it is
wrong: samples are seen twice or never, and pages that the page cache holds are not used again.

How it is measured
------------------
A digest of the sample indices that fed each step (of a batch's middle elements, where there
are no indices) is compared with the control's, batch by batch since the save; what was drawn in steps
that had more batches than they trained on (an evaluation, a replay) is left out of both. An error where
indices differ, where the resumed run's first data are found elsewhere in the control, or where the model's
input is made of integers (tokens, which no augmentation changes). A warning where only other batches
can be compared and they are found nowhere, or where the data are off by at most
``SMALL_SHIFT_STEPS``. What the checkpoint lacks of the sampler's state is told with it. Where the loader
makes larger batches than before, which is found as more work (WRK501), none can equal the control's, and
nothing is said about their order.

How to fix it
-------------
Save and load the sampler's epoch, its generator's state and the position in the epoch, as
``torchdata.stateful_dataloader.StatefulDataLoader`` does, or call ``sampler.set_epoch`` and skip the
indices already used.

When it is wrong
----------------
A sampler that is meant to draw anew in every process (no seed at all) has no order to restore.
Augmentations change a batch's elements though its order is right; so do steps that draw batches for
validation. The save has to lie between two steps: one step of shift can be the script's own way of
counting.
"""

from __future__ import annotations

from collections.abc import Sequence

from ckpt_doctor import units
from ckpt_doctor.checks import blame, likeness, loading
from ckpt_doctor.checks.checkpoints import is_absent, remedy
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.comparison import Comparison, OrderCheck
from ckpt_doctor.facts.report import CannotTell, Case, Confidence, Evidence, Finding, Found, Severity, Side
from ckpt_doctor.facts.states import StateKind

ORDER = (StateKind.SAMPLER_EPOCH, StateKind.SAMPLER_RNG, StateKind.DATALOADER_POSITION)
"""States that fix which data come next."""
SMALL_SHIFT_STEPS = 1
"""A shift of so few steps can be a matter of where the script counts its steps."""
MORE_WORK = "WRK501"
"""The rule that tells that batches are larger than before."""


def find_rest(case: Case, findings: Sequence[Finding]) -> Found | CannotTell | None:
    """Judge the order of the data, unless what was found already changes every batch."""
    comparison = case.comparison
    if comparison is None:
        return None
    if likeness.differences(comparison):
        return CannotTell("the runs are not the same experiment")
    order = comparison.order
    if order.restored is None:
        return CannotTell(blame.why_unknown(comparison, "control", "sample_order"))
    if order.restored:
        return None
    larger = _larger_batches(comparison)
    if larger is not None and any(finding.code == MORE_WORK for finding in findings):
        return CannotTell(f"{larger}, which {MORE_WORK} tells: their order cannot be compared")
    if order.offset != 0 and not _knows_place(comparison):
        return CannotTell("it is not known which step of the control made the checkpoint")
    sure = order.source == "indices" or order.offset is not None or _fed_with_integers(comparison)
    small = order.offset is not None and abs(order.offset - comparison.before.origin) <= SMALL_SHIFT_STEPS
    return Found(
        severity=Severity.ERROR if sure and not small else Severity.WARNING,
        side=Side.DATA,
        summary=_summary(comparison, order),
        remedy=_remedy(case.checkpoints),
        evidence=(*_evidence(comparison, order), *_missing(case.checkpoints)),
        confidence=Confidence.CONFIRMED if sure else Confidence.SUSPECTED,
    )


def _knows_place(comparison: Comparison) -> bool:
    """Whether the control was seen to make the checkpoint in the step after which its data are compared.

    It was not where the checkpoint was given, where only its file was seen, or where a thread of the script
    wrote it: then the state may be that of an earlier step.
    """
    window = comparison.before
    saves = (save for rank in window.run.ranks for save in rank.events_of("save"))
    return any(save.step == window.origin and not save.fields.get("beside") for save in saves)


def _larger_batches(comparison: Comparison) -> str | None:
    """In words, that the loader was told to make larger batches, and does; None where that is not so."""
    changed = any(c.key.endswith(".batch_size") for c in loading.poorer_arguments(comparison))
    before, after = likeness.samples_per_batch(comparison)
    if not changed or before is None or after is None or after < likeness.WORK_RATIO * before:
        return None
    return f"batches of {units.number(after)} samples are not those of {units.number(before)}"


def _fed_with_integers(comparison: Comparison) -> bool:
    """Whether the model's input is known to be made of integers."""
    seen = [event.fields.get("dtype") for event in comparison.after.rank.events_of("model_input")]
    return bool(seen) and all(str(dtype).startswith(("int", "uint")) for dtype in seen)


def _missing(checkpoints: Sequence[CheckpointFacts]) -> tuple[Evidence, ...]:
    """Which states that fix the order are not in the checkpoint."""
    return tuple(
        Evidence(f"{kind.value} in the checkpoint", "absent", None, "checkpoint")
        for facts in checkpoints
        for kind in ORDER
        if is_absent(facts, kind)
    )


def _remedy(checkpoints: Sequence[CheckpointFacts]) -> str:
    """The framework's own remedy for what the checkpoint lacks, or how to do it by hand."""
    lacking = ((facts, [kind for kind in ORDER if is_absent(facts, kind)]) for facts in checkpoints)
    own = "; ".join(text for facts, kinds in lacking if (text := remedy(facts, *kinds)))
    how = own or "save and load the sampler's epoch, generator state and position (StatefulDataLoader does)"
    return f"{how[0].upper()}{how[1:]}; and do not seed the sampler anew on resume."


def _summary(comparison: Comparison, order: OrderCheck) -> str:
    start = (
        f"From step {order.first_difference} after the resume on, the run is fed other data than the control"
    )
    if order.offset is None:
        return f"{start}."
    if order.offset == 0:
        return f"{start}: it began its data anew, and sees again what it has seen."
    shift = order.offset - comparison.before.origin
    direction = "ahead of" if shift > 0 else "behind"
    return f"{start}: its data are {abs(shift)} steps {direction} where they should be."


def _evidence(comparison: Comparison, order: OrderCheck) -> tuple[Evidence, ...]:
    found = [
        Evidence("steps whose data could be compared", order.compared_steps, None, "agent"),
        Evidence("first step with other data", order.first_difference, None, "agent"),
        Evidence("compared by", order.source, None, "agent"),
    ]
    if order.offset is not None:
        found.append(
            Evidence("the data that came first stand in the control at step", order.offset, None, "agent")
        )
        found.append(Evidence("they should stand there at step", comparison.before.origin, None, "agent"))
    return tuple(found)
