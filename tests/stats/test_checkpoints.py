"""Two checkpoints side by side, from facts made by hand."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts, ParamGroupFacts, TensorEntry
from ckpt_doctor.facts.checkpoint_comparison import SizeChange
from ckpt_doctor.facts.states import Presence, PresenceStatus, StateKind
from ckpt_doctor.stats.checkpoints import NO_TENSORS, compare_checkpoints

STATUSES = st.dictionaries(st.sampled_from(StateKind), st.sampled_from(PresenceStatus))


def facts(path: str, states: dict[StateKind, PresenceStatus] | None = None, **more: Any) -> CheckpointFacts:
    """A checkpoint with some states."""
    known = {kind: Presence(status, where=kind.value) for kind, status in (states or {}).items()}
    values = {"format": "torch_zip", "layout": "generic", "size_bytes": 9, "read_bytes": 1, **more}
    return CheckpointFacts(path=path, states=known, **values)


def tensor(key: str, dtype: str = "float32", device: str | None = "cpu", size_bytes: int = 8) -> TensorEntry:
    """A tensor with a storage of its own."""
    return TensorEntry(key, dtype, (size_bytes,), device, key, size_bytes, size_bytes)


def optimizer(**options: object) -> OptimizerFacts:
    """An Adam of one group with these options."""
    group = ParamGroupFacts(2, options)
    return OptimizerFacts("optimizer", "Adam/AdamW", (group,), 2, 16, 16, {"float32": 16}, {"cpu": 16})


def test_states_lost_and_gained() -> None:
    """What only one of them has is lost or gained, with its place; what is unknown is neither."""
    present, absent, unknown = PresenceStatus.PRESENT, PresenceStatus.ABSENT, PresenceStatus.UNKNOWN
    before = facts("a", {StateKind.SCALER: present, StateKind.EMA: absent, StateKind.STEP: unknown})
    after = facts("b", {StateKind.SCALER: absent, StateKind.EMA: present, StateKind.STEP: present})
    found = compare_checkpoints(before, after)
    assert found.lost == {StateKind.SCALER: "scaler"}
    assert found.gained == {StateKind.EMA: "ema"}


def test_options_dtypes_and_devices() -> None:
    """Options of groups and the kinds of tensors are told where they differ, and nothing else is."""
    before = facts("a", optimizers=(optimizer(fused=None, lr=0.1),), tensors=(tensor("model.w"),))
    after = facts(
        "b", optimizers=(optimizer(fused=True, lr=0.1),), tensors=(tensor("model.w", "bfloat16", "cuda:0"),)
    )
    changes = {
        change.what: (change.before, change.after) for change in compare_checkpoints(before, after).changes
    }
    assert changes == {
        "optimizer group 0: fused": ("None", "True"),
        "model: dtypes": ("float32", "bfloat16"),
        "model: devices": ("cpu", "cuda:0"),
    }


def test_sizes_by_key() -> None:
    """Bytes are summed by top-level key, within files of a folder as well, the largest difference first."""
    before = facts("a", tensors=(tensor("model.a"), tensor("model.b"), tensor("gone[0]")), payload_bytes=5)
    after = facts("b", tensors=(tensor("model.a", size_bytes=80), tensor("optimizer.pt: state[0].x")))
    assert compare_checkpoints(before, after).sizes == (
        SizeChange("model", 16, 80),
        SizeChange("gone", 8, None),
        SizeChange("optimizer.pt: state", None, 8),
        SizeChange(NO_TENSORS, 5, None),
    )


@given(STATUSES, STATUSES)
def test_the_other_way_round(
    one: dict[StateKind, PresenceStatus], other: dict[StateKind, PresenceStatus]
) -> None:
    """What is lost one way is gained the other way, and nothing changes between equals."""
    there = compare_checkpoints(facts("a", one), facts("b", other))
    back = compare_checkpoints(facts("b", other), facts("a", one))
    same = compare_checkpoints(facts("a", one), facts("a", one))
    assert (there.lost, there.gained) == (back.gained, back.lost)
    assert not there.lost.keys() & there.gained.keys()
    assert not any((same.lost, same.gained, same.changes, same.sizes))
