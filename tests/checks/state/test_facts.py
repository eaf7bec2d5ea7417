"""Rules on checkpoints, put to facts made by hand: what needs devices or sizes that no small file has."""

from __future__ import annotations

from typing import Any

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts, ParamGroupFacts, TensorEntry
from ckpt_doctor.facts.report import Case, Finding, Severity
from ckpt_doctor.facts.states import Presence, PresenceDetail, PresenceStatus, StateKind

PRESENT = Presence(PresenceStatus.PRESENT, where="here")
STATES = dict.fromkeys(StateKind, PRESENT)


def facts(path: str = "run/ckpt.pt", **changes: Any) -> CheckpointFacts:
    """A complete checkpoint, with changes."""
    values: dict[str, Any] = {
        "path": path,
        "format": "torch_zip",
        "layout": "generic",
        "size_bytes": 1000,
        "read_bytes": 100,
        "states": {**STATES, StateKind.LOADER_ARGUMENTS: Presence(PresenceStatus.ABSENT)},
        **changes,
    }
    return CheckpointFacts(**values)


def tensor(key: str = "model.w", device: str = "cpu", held: int = 8, used: int = 8) -> TensorEntry:
    """A tensor of some bytes in a storage of some bytes of its own."""
    return TensorEntry(key, "float32", (used // 4,), device, key, held, used)


def optimizer(**changes: Any) -> OptimizerFacts:
    """An Adam of one entry, with changes."""
    values: dict[str, Any] = {
        "where": "optimizer",
        "algorithm": "Adam/AdamW",
        "groups": (ParamGroupFacts(1, {"lr": 0.1}),),
        "entries": 1,
        "state_bytes": 16,
        "expected_bytes": 16,
        "dtypes": {"float32": 16},
        "devices": {"cpu": 16},
        **changes,
    }
    return OptimizerFacts(**values)


def findings(*checkpoints: CheckpointFacts) -> dict[str, Finding]:
    """Findings by code."""
    found, _ = judge(Case(checkpoints=checkpoints))
    return {finding.code: finding for finding in found}


def test_a_complete_checkpoint_has_no_findings() -> None:
    """Nothing is found where nothing is wrong."""
    assert not findings(facts(tensors=(tensor(),), optimizers=(optimizer(),)))


def test_step_on_a_gpu() -> None:
    """STA133 speaks of counters on a GPU, unless capturable or fused wants them there."""
    slow = optimizer(step_devices=("cuda:0",))
    fused = optimizer(step_devices=("cuda:0",), groups=(ParamGroupFacts(1, {"fused": True}),))
    assert findings(facts(optimizers=(slow,)))["STA133"].severity is Severity.INFO
    assert "STA133" not in findings(facts(optimizers=(fused,)))
    assert "STA133" not in findings(facts(optimizers=(optimizer(step_devices=("cpu",)),)))


def test_dragged_storage() -> None:
    """STA141 needs half as much again and a surplus that matters; shared storage counts once."""
    assert "STA141" in findings(facts(tensors=(tensor(held=100_000, used=400),)))
    assert "STA141" not in findings(facts(tensors=(tensor(held=10_000, used=400),)))
    assert "STA141" not in findings(facts(tensors=(tensor(held=100_000, used=90_000),)))
    halves = tuple(
        TensorEntry(f"model.{i}", "float32", (12_500,), "cpu", "flat", 100_000, 50_000) for i in range(2)
    )
    assert "STA141" not in findings(facts(tensors=halves))


def test_tensors_on_a_gpu() -> None:
    """STA142 counts the bytes of each device."""
    found = findings(facts(tensors=(tensor("model.a", "cuda:1"), tensor("model.b", "cuda:1"))))
    assert [(e.what, e.value) for e in found["STA142"].evidence] == [("storages on cuda:1", 16)]


def test_cuda_generator_is_missed_on_cuda() -> None:
    """STA113 asks for the CUDA generator where tensors lay on CUDA."""
    absent = {**STATES, StateKind.CUDA_RNG: Presence(PresenceStatus.ABSENT, remedy="save it")}
    assert "CUDA" in findings(facts(states=absent, tensors=(tensor(device="cuda:0"),)))["STA113"].summary
    assert "STA113" not in findings(facts(states=absent, tensors=(tensor(),)))


def test_payload_of_one_checkpoint() -> None:
    """STA144 speaks of megabytes that are no tensors, but not of the description of many tensors."""
    assert "STA144" in findings(facts(payload_bytes=8 << 20, tensors=(tensor(),)))
    assert "STA144" not in findings(facts(payload_bytes=1 << 20, tensors=(tensor(),)))
    many = tuple(tensor(f"model.{i}") for i in range(3000))
    assert "STA144" not in findings(facts(payload_bytes=8 << 20, tensors=many))


def test_payload_of_a_series() -> None:
    """STA144 names the key that grows from one checkpoint to the next, in the order of their steps."""
    old = facts("a.pt", progress={"step": 10}, tensors=(tensor("history", held=1 << 20, used=1 << 20),))
    new = facts("b.pt", progress={"step": 20}, tensors=(tensor("history", held=4 << 20, used=4 << 20),))
    found = findings(new, old)["STA144"]
    assert found.summary.startswith("history grew from 1,048,576 to 4,194,304 bytes")
    assert found.checkpoint == "b.pt"
    assert "STA144" not in findings(old, facts("c.pt", progress={"step": 20}, tensors=old.tensors))


def test_frozen_loader_arguments() -> None:
    """STA145 speaks where arguments are stored, unless the framework keeps them for the record."""
    assert findings(facts(states=STATES))["STA145"].severity is Severity.INFO
    record = Presence(PresenceStatus.PRESENT, PresenceDetail.ELSEWHERE, where="training_args.bin")
    assert "STA145" not in findings(facts(states={**STATES, StateKind.LOADER_ARGUMENTS: record}))


def test_missing_parts() -> None:
    """STA151 is an error that names the first part and counts the rest."""
    found = findings(facts(missing_parts=("model-2 is missing", "model-3 is missing")))["STA151"]
    assert found.severity is Severity.ERROR
    assert found.summary == "the checkpoint is incomplete: model-2 is missing, and 1 more"


def test_unknown_states_are_not_evaluated() -> None:
    """Where nothing is known of a state, its rule says so instead of finding it absent."""
    unknown = {kind: Presence(PresenceStatus.UNKNOWN, why="cut short") for kind in StateKind}
    states = {**unknown, StateKind.MODEL: PRESENT, StateKind.OPTIMIZER: PRESENT}
    found, not_evaluated = judge(Case(checkpoints=(facts(states=states),)))
    assert not [f for f in found if f.code.startswith("STA1")]
    codes = {n.code for n in not_evaluated if n.code.startswith("STA")}
    assert codes >= {"STA102", "STA104", "STA111", "STA112", "STA113"}


def test_derived_scheduler_is_not_missed() -> None:
    """STA102 is silent where the framework computes the learning rate."""
    derived = Presence(PresenceStatus.ABSENT, PresenceDetail.DERIVED, why="from the epoch")
    assert "STA102" not in findings(facts(states={**STATES, StateKind.SCHEDULER: derived}))


def test_bloat_has_two_degrees() -> None:
    """STA131 warns from 1.3 and is an error from 1.5."""
    for state_bytes, severity in ((20, None), (21, Severity.WARNING), (24, Severity.ERROR)):
        found = findings(facts(optimizers=(optimizer(state_bytes=state_bytes),)))
        assert (found["STA131"].severity if "STA131" in found else None) is severity
