"""The optimizer keeps far more bytes than it needs for these parameters.

What it means
-------------
Each optimizer step reads and writes all of its state: twice the bytes take about twice the time, and the
memory is gone for good, since loading and saving carry the surplus on.

How it is measured
------------------
State bytes (of the distinct storages, so that a view of a large buffer counts in full) over the bytes
that an optimizer of this kind needs: elements of the parameter times item size for each moment. 32 bits
are granted to 16-bit parameters, since several optimizers keep their moments so. At a ratio of 1.3 it is
a warning, at 1.5 an error: padding of sharded optimizers stays below 1.05, one dead moment of three
(amsgrad switched off) makes 1.5, float64 makes 2.

How to fix it
-------------
The cause is in the evidence. float64: build the optimizer under the float32 default dtype and cast
the state back. Views: ``.clone()`` the state before saving. Orphans and extra keys: delete them from
``state``. Dead ``max_exp_avg_sq``: delete it, or switch amsgrad on. ``ckpt-doctor treat`` does it in a copy.

When it is wrong
----------------
For an optimizer whose state names are those of another one, but whose needs differ. An optimizer that
is not recognised is not judged.
"""

from __future__ import annotations

from ckpt_doctor.checks.checkpoints import SOURCE, savings
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Found, Severity, Side
from ckpt_doctor.facts.shape import Shape

WARNING_RATIO = 1.3
"""Above what padding and alignment make of it (at most 1.05 in sharded optimizers)."""
ERROR_RATIO = 1.5
"""One useless buffer beside two: the first step that is heavier by half."""
WIDE = ("float64", "complex128")
CAUSES = ("wide", "views", "dead")
"""What a repair of this rule takes off; orphans and duplicates are STA132's."""


def find(case: Case) -> tuple[Found, ...] | CannotTell | None:
    """Judge each optimizer of each checkpoint."""
    found = [
        each for facts in case.checkpoints for each in (_judge(facts, o) for o in facts.optimizers) if each
    ]
    if found:
        return tuple(found)
    for facts in case.checkpoints:
        for optimizer in facts.optimizers:
            if optimizer.entries and optimizer.bloat_ratio is None and optimizer.state_bytes:
                return CannotTell(
                    f"{facts.path}: {optimizer.where}: {'; '.join(optimizer.notes) or 'unknown state'}"
                )
    return None


def _judge(facts: CheckpointFacts, optimizer: OptimizerFacts) -> Found | None:
    ratio = optimizer.bloat_ratio
    if ratio is None or ratio < WARNING_RATIO:
        return None
    causes, steps = _causes(optimizer)
    return Found(
        severity=Severity.ERROR if ratio >= ERROR_RATIO else Severity.WARNING,
        side=Side.COMPUTE,
        summary=f"{optimizer.algorithm} at {optimizer.where} keeps {ratio:.2f} times the state that it needs"
        + (f": {', '.join(causes)}" if causes else ""),
        remedy="; ".join(steps) or "rebuild the optimizer and load only the state that it needs",
        evidence=(
            Evidence(f"state of {optimizer.where}", optimizer.state_bytes, "bytes", SOURCE),
            Evidence("needed for these parameters", optimizer.expected_bytes, "bytes", SOURCE),
            *savings(sum(optimizer.surplus_bytes.get(cause, 0) for cause in CAUSES)),
            *(
                Evidence(f"state in {name}", size, "bytes", SOURCE)
                for name, size in sorted(optimizer.dtypes.items())
            ),
            *(Evidence("how it was counted", note, None, SOURCE) for note in optimizer.notes),
        ),
        shape=Shape.STEADY,
        checkpoint=facts.path,
    )


def _causes(optimizer: OptimizerFacts) -> tuple[list[str], list[str]]:
    """What makes it heavy, and what to do about each."""
    causes, steps = [], []
    wide = [name for name in WIDE if name in optimizer.dtypes]
    if wide and not any(name in WIDE for name in optimizer.parameter_dtypes):
        causes.append(f"state in {wide[0]}")
        steps.append("cast the state back to the dtype of the parameters before saving or after loading")
    if optimizer.orphans:
        causes.append(f"{len(optimizer.orphans)} entries without a parameter")
        steps.append("delete entries of 'state' whose id no group lists")
    if optimizer.duplicates:
        causes.append(f"{len(optimizer.duplicates)} duplicated entries")
        steps.append("build the groups once, and load the state before adding any")
    if optimizer.extra_keys:
        causes.append(f"keys that it does not use ({', '.join(optimizer.extra_keys[:3])})")
        steps.append("delete the keys that do not belong to this optimizer")
    held = sum(optimizer.dtypes.values())
    if optimizer.state_bytes > WARNING_RATIO * held:
        causes.append(f"views of larger buffers ({held:,} of {optimizer.state_bytes:,} bytes are used)")
        steps.append("clone() each state tensor before saving")
    if not causes:
        steps.append("delete state of options that are off, as max_exp_avg_sq with amsgrad=False")
    return causes, steps
