"""The rules on checkpoints, put to the checked-in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.checks.engine import judge
from ckpt_doctor.facts.report import Case, Finding, Severity
from ckpt_doctor.readers.inspection import read_checkpoint

FIXTURES = Path(__file__).parents[3] / "fixtures" / "checkpoints"

PLAIN = {"STA102", "STA111", "STA112", "STA113"}
"""What a file of model, optimizer and step lacks."""


def findings(name: str, *required: str) -> dict[str, Finding]:
    """Findings of a fixture by code."""
    facts = read_checkpoint(str(FIXTURES / name))
    found, _ = judge(Case(checkpoints=(facts,), required=frozenset(required)))
    return {finding.code: finding for finding in found}


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("complete.pt", set()),
        ("plain.pt", PLAIN),
        ("legacy.pt", PLAIN),
        ("protocol4.pt", PLAIN),
        ("wide_state.pt", PLAIN | {"STA131"}),
        ("orphaned_state.pt", PLAIN | {"STA131", "STA132"}),
        ("duplicated_groups.pt", PLAIN | {"STA131", "STA132"}),
        ("dragged_views.pt", PLAIN | {"STA131"}),
        ("foreach_off.pt", PLAIN | {"STA134"}),
        ("amsgrad.pt", PLAIN),
        ("half.pt", PLAIN | {"STA103"}),
        ("scheduler_forgotten.pt", PLAIN),
        ("compiled.pt", PLAIN | {"STA121", "STA143"}),
        ("runs_code.pt", PLAIN | {"STA152"}),
        ("weights.pt", {"STA101"}),
        ("whole_module.pt", {"STA101"}),
        ("weights.safetensors", {"STA101"}),
        ("sharded", {"STA101"}),
    ],
)
def test_codes_of_the_fixtures(name: str, codes: set[str]) -> None:
    """Each fixture has its own findings and no others."""
    assert set(findings(name)) == codes


def test_weights_alone_are_no_warning() -> None:
    """A file of weights is said once to be no training checkpoint, as information."""
    assert findings("weights.pt")["STA101"].severity is Severity.INFO


def test_required_states_are_errors() -> None:
    """What the project demands and the file lacks is an error."""
    found = findings("plain.pt", "dataloader_position", "torch_rng", "sampler_epoch", "scaler", "epoch")
    assert {c for c, f in found.items() if f.severity is Severity.ERROR} == {
        "STA103",
        "STA104",
        "STA111",
        "STA112",
        "STA113",
    }


def test_scheduler_is_missed_only_where_there_was_one() -> None:
    """Without a mark of a scheduler its absence is information, with one a warning."""
    assert findings("plain.pt")["STA102"].severity is Severity.INFO
    assert findings("scheduler_forgotten.pt")["STA102"].severity is Severity.WARNING


def test_cuda_rng_is_not_missed_on_cpu() -> None:
    """A run whose tensors lay on the CPU lacks no CUDA generator."""
    assert "CUDA" not in findings("plain.pt")["STA113"].summary


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wide_state.pt", "state in float64"),
        ("orphaned_state.pt", "entries without a parameter"),
        ("duplicated_groups.pt", "duplicated entries"),
        ("dragged_views.pt", "views of larger buffers"),
    ],
)
def test_bloat_names_its_cause(name: str, words: str) -> None:
    """The ratio comes with what makes it."""
    assert words in findings(name)["STA131"].summary


def test_findings_carry_evidence_and_their_checkpoint() -> None:
    """Every finding says where it was read and what to do."""
    for name in ("plain.pt", "wide_state.pt", "foreach_off.pt", "weights.pt", "compiled.pt"):
        for finding in findings(name).values():
            assert finding.evidence, finding.code
            assert finding.remedy, finding.code
            assert finding.checkpoint == str(FIXTURES / name)


def test_no_checkpoint_is_no_case() -> None:
    """A case without checkpoints gives no findings of this family and no complaints."""
    found, unknown = judge(Case())
    assert not [f.code for f in found if f.code.startswith("STA")]
    assert not [u.code for u in unknown if u.code.startswith("STA")]
