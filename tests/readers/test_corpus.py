"""Agreement with the corpus of real checkpoints, where that is at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.report import Case
from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
LEAST_AGREEMENT = 0.99
NEGATIVE = ("not_a_checkpoint", "not_ours")

DISAGREEMENTS: dict[tuple[str, str], str] = {}
"""Facts on which we differ from the label, and why; everything else must agree."""

pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not beside the project")


def _lines() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / "MANIFEST.jsonl").read_text().splitlines()]


def _differences(line: dict[str, Any]) -> list[tuple[str, bool, str]]:
    """(state, label, what we say) for each known fact on which we differ."""
    try:
        states = read_checkpoint(str(CORPUS / "out" / line["path"])).states
    except CheckpointError as error:
        said = dict.fromkeys(StateKind, f"error: {error.what}")
    else:
        said = {kind: states[kind].status.value for kind in StateKind}
    known = {name: fact["present"] for name, fact in line["truth"].items() if fact["present"] is not None}
    return [
        (name, there, said[StateKind(name)])
        for name, there in known.items()
        if said[StateKind(name)] != ("present" if there else "absent")
    ]


def test_agreement_with_the_labels() -> None:
    """At least 99 % of the known facts agree, of the present ones alone too, and the rest is explained."""
    known = agreed = there = there_agreed = 0
    unexplained = []
    for line in _lines():
        if line["kind"] in NEGATIVE:
            continue
        facts = [fact["present"] for fact in line["truth"].values() if fact["present"] is not None]
        differences = _differences(line)
        known += len(facts)
        agreed += len(facts) - len(differences)
        there += sum(facts)
        there_agreed += sum(facts) - sum(label for _, label, _ in differences)
        unexplained += [(line["path"], *d) for d in differences if (line["path"], d[0]) not in DISAGREEMENTS]
    assert not unexplained
    assert agreed >= LEAST_AGREEMENT * known
    assert there_agreed >= LEAST_AGREEMENT * there


def test_listed_disagreements_still_exist() -> None:
    """A disagreement that is settled leaves the list."""
    found = {
        (line["path"], d[0]) for line in _lines() if line["kind"] not in NEGATIVE for d in _differences(line)
    }
    assert set(DISAGREEMENTS) <= found


def test_negatives_are_declined() -> None:
    """What is no PyTorch checkpoint is declined with one line that says what it is."""
    for line in _lines():
        if line["kind"] in NEGATIVE:
            with pytest.raises(CheckpointError) as caught:
                read_checkpoint(str(CORPUS / "out" / line["path"]))
            assert "\n" not in caught.value.what, line["path"]


def test_every_present_state_says_where() -> None:
    """Whatever is called present names its place."""
    for line in _lines():
        if line["kind"] in NEGATIVE:
            continue
        try:
            states = read_checkpoint(str(CORPUS / "out" / line["path"])).states
        except CheckpointError:
            continue
        assert all(p.where for p in states.values() if p.status is PresenceStatus.PRESENT), line["path"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("transformers4_trainer/adamw_linear_mid_epoch/checkpoint-9", "ignore_data_skip=False"),
        ("lightning2/adamw_nosched_end_of_epoch/last.ckpt", "from train_dataloader()"),
        ("accelerate_save_state/plain_mid_epoch", "use_stateful_dataloader=True"),
        ("accelerate_save_state/stateful_mid_epoch", "use_seedable_sampler=True"),
        ("deepspeed_zero/zero1_fp32", "beside the tag folder"),
        ("torch_fsdp1/full_state_dict", "in a file of its own for each rank"),
        ("torch_fsdp1/sharded_state_dict", "in a file of its own for each rank"),
        ("torch_fsdp1/local_state_dict", "in a file of its own for each rank"),
        ("torch_dcp/fsdp2_app_state", "a key of its own for each rank"),
        ("torch_dcp/fsdp2_torch_save_per_rank", "in a file of its own for each rank"),
    ],
)
def test_a_missing_position_has_the_remedy_of_its_framework(path: str, words: str) -> None:
    """STA112 finds it in a file that the framework itself wrote, and names the framework's own switch."""
    found, _ = judge(Case(checkpoints=(read_checkpoint(str(CORPUS / "out" / path)),)))
    assert words in next(finding.remedy for finding in found if finding.code == "STA112")
