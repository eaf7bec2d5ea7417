"""What treat does with every checkpoint at hand: repaired as inspect said, or declined in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from ckpt_doctor import doctor
from ckpt_doctor.checks.checkpoints import SAVED
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.errors import CkptDoctorError, InputError
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.repair import RepairOutcome, RepairRequest
from ckpt_doctor.facts.report import Case, Finding
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.repairs.engine import catalogue
from tests.repairs.conftest import FIXTURES, Treat, codes, found, said

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
BLOAT = {"STA131", "STA132", "STA141"}
RECORD_BYTES = 256
"""A record's headers, its name and the space that aligns it."""
BLOATED = {
    *("wide_state.pt", "orphaned_state.pt", "duplicated_groups.pt", "dragged_views.pt"),
    *("torch_formats/views_drag_storage/ckpt.pt", "torch_formats/view_40x/ckpt.pt"),
    *("torch_formats/optimizer_views_drag_storage/ckpt.pt", "torch_optimizers/adamw_orphan_state/ckpt.pt"),
}
"""Files that hold more than they need."""
PREFIXED = {
    "compiled.pt",
    "torch_formats/mixed_prefix/ckpt.pt",
    "torch_nanogpt/adamw_compiled_orig_mod/ckpt.pt",
}
"""Files whose names have a wrapper's prefix, which cannot be stripped from all."""


def _paths() -> list[Path]:
    names = sorted(json.loads((FIXTURES / "truth.json").read_text()))
    manifest = CORPUS / "MANIFEST.jsonl"
    lines = manifest.read_text().splitlines() if manifest.exists() else []
    return [FIXTURES / name for name in names] + [CORPUS / "out" / json.loads(line)["path"] for line in lines]


def _name(path: Path) -> str:
    return str(path.relative_to(CORPUS / "out" if CORPUS in path.parents else FIXTURES))


def _digest(path: Path) -> str:
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    return hashlib.sha256(b"".join(each.read_bytes() for each in files)).hexdigest()


def _findings(facts: CheckpointFacts) -> tuple[Finding, ...]:
    return judge(Case(checkpoints=(facts,)))[0]


def _storage_bytes(facts: CheckpointFacts) -> int:
    return sum({tensor.storage: tensor.storage_bytes for tensor in facts.tensors}.values())


def _promised(facts: CheckpointFacts) -> int:
    """What the findings say can be saved; views in an optimizer are in two of them, if both are there."""
    findings = [finding for finding in _findings(facts) if finding.code in BLOAT]
    values = [each.value for finding in findings for each in finding.evidence if each.what == SAVED]
    both = {"STA131", "STA141"} <= {finding.code for finding in findings}
    twice = sum(optimizer.surplus_bytes.get("views", 0) for optimizer in facts.optimizers) if both else 0
    return sum(value for value in values if isinstance(value, int)) - twice


def _attempt(treat: Treat, path: Path, output: Path) -> RepairOutcome | CkptDoctorError:
    try:
        return treat(path, output=output)
    except CkptDoctorError as error:
        return error


@pytest.mark.parametrize("path", _paths(), ids=_name)
def test_every_checkpoint(tmp_path: Path, treat: Treat, path: Path) -> None:
    """A copy is clean, and smaller by what inspect promised; where there is none one line says why."""
    before = _digest(path)
    folder = tmp_path / "place"
    folder.mkdir()
    outcome = _attempt(treat, path, folder / "copy")
    assert _digest(path) == before
    if isinstance(outcome, CkptDoctorError):
        assert isinstance(outcome, InputError)
        assert "\n" not in outcome.what
        assert not list(folder.iterdir())
        return
    assert [each.name for each in folder.iterdir()] == ["copy"]
    assert outcome.after is not None
    assert not (set(codes(outcome)) | BLOAT) & found(outcome)
    promised = _promised(outcome.before)
    assert _storage_bytes(outcome.before) - _storage_bytes(outcome.after) == promised == outcome.saved_bytes
    slack = RECORD_BYTES * (len(outcome.before.tensors) + 8)
    assert abs(outcome.before.size_bytes - outcome.after.size_bytes - promised) <= slack or not codes(outcome)


@pytest.mark.parametrize("path", [path for path in _paths() if _name(path) in BLOATED | PREFIXED], ids=_name)
def test_a_dry_run_tells_what_a_copy_would_be(treat: Treat, path: Path) -> None:
    """Without a copy the same repairs are told, and of what has a repair the same is still found."""
    told, done = doctor.treat(RepairRequest(path=str(path), output=None), Policy()), treat(path)
    assert told.repairs == done.repairs
    with_repair = {each.code for each in catalogue()}
    assert found(told) & with_repair == found(done) & with_repair


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not beside the project")
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("torch_formats/views_drag_storage/ckpt.pt", "STA141"),
        ("torch_formats/view_40x/ckpt.pt", "STA141"),
        ("torch_formats/optimizer_views_drag_storage/ckpt.pt", "STA131"),
        ("torch_optimizers/adamw_orphan_state/ckpt.pt", "STA132"),
        ("torch_nanogpt/adamw_compiled_orig_mod/ckpt.pt", "STA143"),
        ("torch_compile_cache/inside/ckpt.pt", "STA143"),
        ("torch_dcp/converted_to_torch_save/ckpt.pt", "STA143"),
        ("torch_ddp/compiled_ddp_orig_mod_module", "STA143"),
    ],
)
def test_faults_that_were_put_there_are_repaired(treat: Treat, name: str, code: str) -> None:
    """The files whose label names a fault of this kind come out without it."""
    outcome = treat(CORPUS / "out" / name)
    assert code in codes(outcome)
    assert code not in found(outcome)


@pytest.mark.skipif(not CORPUS.exists(), reason="the corpus is not beside the project")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("torch_imagenet/sgd_steplr_dataparallel/checkpoint.pth.tar", "DataParallel"),
        ("accelerate_save_state/compiled", "accelerator.load_state"),
        ("torch_formats/mixed_prefix/ckpt.pt", "not every name"),
    ],
)
def test_prefixes_that_are_needed_stay(treat: Treat, name: str, words: str) -> None:
    """Where a copy without the prefix would not load, or it may be a name, it stays and why is told."""
    outcome = treat(CORPUS / "out" / name)
    assert not codes(outcome)
    assert words in said(outcome)


@pytest.mark.parametrize("path", [path for path in _paths() if _name(path) in BLOATED], ids=_name)
def test_each_rule_keeps_its_own_promise(tmp_path: Path, treat: Treat, path: Path) -> None:
    """A rule that is repaired alone saves exactly the bytes that its finding names."""
    facts = read_checkpoint(str(path))
    promises = {
        finding.code: each.value
        for finding in _findings(facts)
        for each in finding.evidence
        if each.what == SAVED
    }
    assert promises
    for code, promised in promises.items():
        outcome = treat(path, output=tmp_path / code, only=frozenset({code}))
        assert outcome.after is not None
        assert _storage_bytes(facts) - _storage_bytes(outcome.after) == promised == outcome.saved_bytes
