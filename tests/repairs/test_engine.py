"""Repairs are chosen, applied and written, and what cannot be repaired is declined."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from ckpt_doctor import doctor
from ckpt_doctor.checks.engine import catalogue as rules
from ckpt_doctor.errors import InputError, UsageError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.repair import Change, RepairRequest
from ckpt_doctor.repairs.draft import Draft
from ckpt_doctor.repairs.engine import HEADINGS, Remedy, catalogue
from ckpt_doctor.repairs.state import sta134_optimizer_fast_path_off
from tests.repairs.conftest import FIXTURES, Treat, codes, found, load, said, trained

PREFIXED = {"_orig_mod.w": torch.arange(4.0), "_orig_mod.b": torch.ones(2)}


@pytest.mark.parametrize("remedy", catalogue(), ids=lambda each: each.code)
def test_a_repair_belongs_to_its_rule(remedy: Remedy) -> None:
    """Each repair bears the code and name of a rule, tells what it does and what not, and takes a draft."""
    assert (remedy.code, remedy.name) in {(rule.code, rule.name) for rule in rules()}
    for heading in HEADINGS:
        body = remedy.doc.partition(f"{heading}\n{'-' * len(heading)}\n")[2]
        assert len(body.partition("\n---")[0].split()) >= 5
    assert list(inspect.signature(remedy.module.apply).parameters) == ["draft"]


def test_the_repairs_that_were_promised() -> None:
    """What the command says that it repairs has a repair."""
    assert {each.code for each in catalogue()} == {
        *("STA131", "STA132", "STA133", "STA134"),
        *("STA141", "STA142", "STA143", "STA144"),
    }


def test_a_healthy_checkpoint_is_copied(tmp_path: Path, treat: Treat) -> None:
    """Where there is nothing to do the copy is the file, byte by byte."""
    outcome = treat(FIXTURES / "plain.pt")
    assert not outcome.has_changes
    assert (tmp_path / "fixed-plain.pt").read_bytes() == (FIXTURES / "plain.pt").read_bytes()
    assert found(outcome) == {"STA102", "STA111", "STA112", "STA113"}


def test_only_and_skip(treat: Treat, tmp_path: Path) -> None:
    """A rule can be chosen or left out; what is not wanted is named and stays found."""
    path = tmp_path / "both.pt"
    state = torch.load(FIXTURES / "foreach_off.pt", weights_only=True)
    torch.save({**state, "model": {f"_orig_mod.{k}": v for k, v in state["model"].items()}}, path)
    assert codes(treat(path, output=tmp_path / "a.pt")) == ["STA134", "STA143"]
    only = treat(path, output=tmp_path / "b.pt", only=frozenset({"STA134"}))
    assert (codes(only), only.skipped) == (["STA134"], ("STA143",))
    assert "STA143" in found(only)
    assert codes(treat(path, output=tmp_path / "c.pt", skipped=frozenset({"STA134"}))) == ["STA143"]


@pytest.mark.parametrize("options", [{"only": frozenset({"STA111"})}, {"skipped": frozenset({"STA999"})}])
def test_a_rule_without_a_repair(treat: Treat, options: dict[str, frozenset[str]]) -> None:
    """A code that has no repair is an error of usage that names those that have one."""
    with pytest.raises(UsageError, match="there is no repair for") as caught:
        treat(FIXTURES / "plain.pt", **options)
    assert "STA131" in str(caught.value.hint)


def test_a_legacy_file_is_written_anew(treat: Treat, tmp_path: Path) -> None:
    """A repaired file of the old format comes out as a zip archive, which every torch since 1.6 reads."""
    path = tmp_path / "old.pt"
    torch.save({"model": PREFIXED, "step": 1}, path, _use_new_zipfile_serialization=False)
    outcome = treat(path)
    assert outcome.after is not None
    assert (outcome.before.format, outcome.after.format) == ("torch_legacy", "torch_zip")
    assert list(load(outcome)["model"]) == ["w", "b"]


def test_permissions_are_kept(treat: Treat, tmp_path: Path) -> None:
    """A checkpoint that only its owner may read has a copy that only its owner may read."""
    path = tmp_path / "mine.pt"
    torch.save({"model": PREFIXED}, path)
    path.chmod(0o600)
    treat(path)
    assert (tmp_path / "fixed-mine.pt").stat().st_mode & 0o777 == 0o600


def test_safetensors(treat: Treat, tmp_path: Path) -> None:
    """Weights in safetensors are renamed, and the text of the header stays."""
    path = tmp_path / "model.safetensors"
    save_file(PREFIXED, path, metadata={"format": "pt", "note": "kept"})
    assert codes(treat(path)) == ["STA143"]
    copy = tmp_path / "fixed-model.safetensors"
    assert set(load_file(copy)) == {"w", "b"}
    assert torch.equal(load_file(copy)["w"], PREFIXED["_orig_mod.w"])
    assert b'"note":"kept"' in copy.read_bytes()


def test_a_folder_is_copied_and_its_optimizer_treated(treat: Treat, tmp_path: Path) -> None:
    """Of a Trainer's folder the file with the finding is written anew, the others are the same."""
    folder = tmp_path / "checkpoint-2"
    (folder / "extra").mkdir(parents=True)
    model, optimizer = trained(foreach=False)
    save_file(model.state_dict(), folder / "model.safetensors")
    torch.save(optimizer.state_dict(), folder / "optimizer.pt")
    (folder / "trainer_state.json").write_text('{"global_step": 2, "epoch": 1.0}')
    (folder / "extra" / "notes.txt").write_text("mine")
    outcome = treat(folder)
    assert codes(outcome) == ["STA134"]
    copy = tmp_path / "fixed-checkpoint-2"
    names = {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}
    assert {str(each.relative_to(copy)) for each in copy.rglob("*") if each.is_file()} == names
    for name in names - {"optimizer.pt"}:
        assert (copy / name).read_bytes() == (folder / name).read_bytes()
    assert torch.load(copy / "optimizer.pt", weights_only=True)["param_groups"][0]["foreach"] is None


def test_shards_with_an_index_keep_their_names(treat: Treat, tmp_path: Path) -> None:
    """Names that an index holds too are not changed in the shards alone."""
    folder = tmp_path / "sharded"
    shutil.copytree(FIXTURES / "sharded", folder)
    for shard in folder.glob("*.safetensors"):
        save_file({f"_orig_mod.{name}": value for name, value in load_file(shard).items()}, shard)
    index = folder / "model.safetensors.index.json"
    index.write_text(index.read_text().replace('"0.', '"_orig_mod.0.').replace('"2.', '"_orig_mod.2.'))
    outcome = treat(folder)
    assert not outcome.has_changes
    assert "an index of several files" in said(outcome)


def test_a_distributed_checkpoint_is_declined(treat: Treat, tmp_path: Path) -> None:
    """A folder of torch.distributed.checkpoint is declined, with the way to make one file of it."""
    import torch.distributed.checkpoint as dcp

    dcp.save({"model": {"w": torch.zeros(2)}}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    with pytest.raises(InputError, match="not of dcp") as caught:
        treat(tmp_path / "dcp")
    assert "dcp_to_torch_save" in str(caught.value.hint)


def test_an_incomplete_checkpoint_is_declined(treat: Treat, tmp_path: Path) -> None:
    """No copy is made of what lacks a part."""
    folder = tmp_path / "sharded"
    shutil.copytree(FIXTURES / "sharded", folder)
    next(folder.glob("*.safetensors")).unlink()
    with pytest.raises(InputError, match="incomplete"):
        treat(folder)
    assert [each.name for each in tmp_path.iterdir()] == ["sharded"]


def test_an_address_is_declined(tmp_path: Path) -> None:
    """Repairs are made on this machine."""
    request = RepairRequest(path="memory://bucket/ckpt.pt", output=str(tmp_path / "x.pt"))
    with pytest.raises(InputError, match="a file of this machine"):
        doctor.treat(request, Policy())


def test_ignored_rules_are_not_repaired(tmp_path: Path) -> None:
    """What a project ignores is left alone, unless it is asked for by name."""
    policy = Policy(ignored=frozenset({"STA134"}))
    request = RepairRequest(path=str(FIXTURES / "foreach_off.pt"), output=str(tmp_path / "a.pt"))
    assert not doctor.treat(request, policy).has_changes
    asked = RepairRequest(
        path=str(FIXTURES / "foreach_off.pt"), output=str(tmp_path / "b.pt"), only=frozenset({"STA134"})
    )
    assert codes(doctor.treat(asked, policy)) == ["STA134"]


@pytest.mark.parametrize("name", ["runs_code.pt", "protocol4.pt", "whole_module.pt"])
def test_a_file_that_would_not_load_safely_is_declined(treat: Treat, tmp_path: Path, name: str) -> None:
    """What weights_only refuses is told also where there is nothing to repair, and no copy is made."""
    with pytest.raises(InputError, match="weights_only=True"):
        treat(FIXTURES / name)
    assert not list(tmp_path.iterdir())


def test_a_copy_that_lacks_a_state_is_not_kept(
    treat: Treat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a repair were at fault and took a state away, no copy would come of it."""

    def forget(draft: Draft) -> Iterator[Change]:
        (document,) = draft.documents
        del draft.loaded(document).root["optimizer"]
        yield draft.change(document, "optimizer", "forgot it")

    monkeypatch.setattr(sta134_optimizer_fast_path_off, "apply", forget)
    with pytest.raises(InputError, match="would lack optimizer"):
        treat(FIXTURES / "foreach_off.pt")
    assert not list(tmp_path.iterdir())
