"""Which checkpoint of a folder is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.readers.folders import choose
from ckpt_doctor.readers.stores import LocalStore


def make(root: Path, *names: str) -> Path:
    """Empty files, with the folders that lead to them."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        (["checkpoint-500/optimizer.pt", "checkpoint-1000/optimizer.pt"], "checkpoint-1000"),
        (["model.safetensors", "checkpoint-2/a.pt", "checkpoint-10/a.pt"], "checkpoint-10"),
        (["step-9/x.pt", "step-10/x.pt"], "step-10"),
        (["checkpoints/checkpoint_0/model.safetensors"], "checkpoints/checkpoint_0"),
        (["epoch=0-step=4.ckpt", "epoch=1-step=8.ckpt"], "epoch=1-step=8.ckpt"),
        (["epoch=0-step=4.ckpt", "epoch=1-step=8.ckpt", "last.ckpt"], "last.ckpt"),
        (["ckpt_9.pt", "ckpt_10.pt"], "ckpt_10.pt"),
    ],
)
def test_newest_of_a_series(tmp_path: Path, names: list[str], newest: str) -> None:
    """The highest number wins, as a number and not as text."""
    assert choose(LocalStore(), str(make(tmp_path, *names))).path == str(tmp_path / newest)


@pytest.mark.parametrize(
    "names",
    [
        ["rank0.pt", "rank1.pt"],
        ["model.pt", "optimizer.pt"],
        ["trainer_state.json", "optimizer.pt", "global_step5/x.pt"],
        ["model.safetensors", "random_states_0.pkl", "random_states_1.pkl", "model_1.safetensors"],
        ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
        ["model_000010.pt", "meta_000010.json", "optim_000010_rank0.pt"],
    ],
)
def test_parts_of_one_checkpoint_stay_together(tmp_path: Path, names: list[str]) -> None:
    """Files that belong together are not taken for a series."""
    assert choose(LocalStore(), str(make(tmp_path, *names))).path == str(tmp_path)


def test_pointers_are_followed(tmp_path: Path) -> None:
    """A text file that names the latest checkpoint decides, whatever its number."""
    make(tmp_path, "model_0000004.pth", "model_0000009.pth")
    (tmp_path / "last_checkpoint").write_text("/elsewhere/model_0000004.pth")
    assert choose(LocalStore(), str(tmp_path)).path == str(tmp_path / "model_0000004.pth")


@pytest.mark.parametrize("folder", ["iter_0000010", "global_step_10"])
def test_pointers_that_give_a_number(tmp_path: Path, folder: str) -> None:
    """Megatron and verl write the number alone; a later folder may be an interrupted save."""
    make(tmp_path, f"{folder}/a.pt", f"{folder.replace('10', '20')}/a.pt")
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("10")
    assert choose(LocalStore(), str(tmp_path)).path == str(tmp_path / folder)


def test_deepspeed_tag_decides_among_tags(tmp_path: Path) -> None:
    """Other tags than the one that ``latest`` names are skipped."""
    make(tmp_path, "global_step2/a.pt", "global_step4/a.pt", "zero_to_fp32.py")
    (tmp_path / "latest").write_text("global_step2")
    choice = choose(LocalStore(), str(tmp_path))
    assert choice.path == str(tmp_path)
    assert choice.skipped == {"global_step4"}


def test_the_copy_of_the_best_is_skipped(tmp_path: Path) -> None:
    """``model_best`` beside a checkpoint is not read a second time."""
    make(tmp_path, "checkpoint.pth.tar", "model_best.pth.tar")
    assert choose(LocalStore(), str(tmp_path)).skipped == {"model_best.pth.tar"}
