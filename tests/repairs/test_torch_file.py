"""Files of torch.save are loaded with weights_only or not at all, and written as they were."""

from __future__ import annotations

import argparse
import pickle
import random
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from ckpt_doctor.errors import CheckpointError, MachineError
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.repairs import torch_file
from ckpt_doctor.repairs.loaded import storage_of
from tests.repairs.conftest import FIXTURES, relocated


class Custom:
    """A class of the user's own."""


def again(path: Path, state: Any, **options: Any) -> Any:
    """What a state is after it was saved, loaded here, written here and loaded once more."""
    torch.save(state, path, **options)
    torch_file.load(path, str(path)).write(path.with_name("copy.pt"))
    return torch.load(path.with_name("copy.pt"), weights_only=False)


def test_everything_that_runs_keep(tmp_path: Path) -> None:
    """Generators of torch, numpy and Python, numbers, text and nested containers come back as they were."""
    state = {
        "torch": torch.get_rng_state(),
        "numpy": numpy.random.get_state(),
        "python": random.getstate(),
        "loss": numpy.float64(0.25),
        "array": numpy.arange(6.0).reshape(2, 3),
        7: (1, [2.5, None, True], {"x": {1, 2}}),
        "big": 1 << 70,
        "bytes": b"abc",
    }
    back = again(tmp_path / "x.pt", state)
    assert list(back) == list(state)
    assert torch.equal(back["torch"], state["torch"])
    assert back["numpy"][0] == "MT19937"
    assert numpy.array_equal(back["numpy"][1], state["numpy"][1])
    assert numpy.array_equal(back["array"], state["array"])
    for key in ("python", "loss", 7, "big", "bytes"):
        assert back[key] == state[key]


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_shared_storages_stay_shared(tmp_path: Path, options: dict[str, Any]) -> None:
    """Tied weights, views, parameters and the versions of a state dict survive, in both formats."""
    tied = torch.arange(6.0)
    weights = OrderedDict(a=tied, b=tied[2:4], p=torch.nn.Parameter(torch.ones(2)))
    weights._metadata = {"": {"version": 2}}  # type: ignore[attr-defined]
    back = again(tmp_path / "x.pt", {"model": weights}, **options)["model"]
    assert storage_of(back["a"]) == storage_of(back["b"])
    assert isinstance(back["p"], torch.nn.Parameter)
    assert back._metadata == {"": {"version": 2}}


def test_compressed_records_are_not_mapped(tmp_path: Path) -> None:
    """The values of an archive that was packed again with compression are right."""
    torch.save({"w": torch.arange(1000.0)}, tmp_path / "x.pt")
    with (
        zipfile.ZipFile(tmp_path / "x.pt") as before,
        zipfile.ZipFile(tmp_path / "packed.pt", "w", zipfile.ZIP_DEFLATED) as after,
    ):
        for name in before.namelist():
            after.writestr(name, before.read(name))
    root = torch_file.load(tmp_path / "packed.pt", "packed.pt").root
    assert torch.equal(root["w"], torch.arange(1000.0))


def test_placements_are_kept_until_they_are_changed(tmp_path: Path) -> None:
    """Without a GPU, storages that lay on one are loaded, and written as lying there, one by one."""
    torch.save({"a": torch.ones(3), "b": torch.arange(40.0)[:2], "c": torch.zeros(2)}, tmp_path / "cpu.pt")
    loaded = torch_file.load(relocated(tmp_path / "cpu.pt", tmp_path / "x.pt"), "x.pt")
    assert loaded.place(loaded.root["a"]) == "cuda:0"
    loaded.place_on_cpu(loaded.root["a"])
    loaded.replace(loaded.root["b"], loaded.root["b"].clone())
    loaded.write(tmp_path / "copy.pt")
    devices = {tensor.key: tensor.device for tensor in read_checkpoint(str(tmp_path / "copy.pt")).tensors}
    assert devices == {"a": "cpu", "b": "cuda:0", "c": "cuda:0"}
    torch.save({"a": torch.ones(3)}, tmp_path / "later.pt")
    (tensor,) = read_checkpoint(str(tmp_path / "later.pt")).tensors
    assert tensor.device == "cpu"


@pytest.mark.parametrize("options", [{}, {"_use_new_zipfile_serialization": False}])
def test_classes_are_named_and_not_loaded(tmp_path: Path, options: dict[str, Any]) -> None:
    """A file with objects of other classes is refused with their names."""
    path = tmp_path / "x.pt"
    torch.save({"w": torch.ones(1), "args": argparse.Namespace(lr=1), "own": Custom()}, path, **options)
    with pytest.raises(
        CheckpointError, match=r"x\.pt: it holds objects of classes .*argparse\.Namespace"
    ) as caught:
        torch_file.load(path, "x.pt")
    assert "\n" not in caught.value.what
    assert "could run code" in str(caught.value.hint)
    if not options:
        assert "Custom" in caught.value.what


def test_code_is_not_run(capfd: pytest.CaptureFixture[str]) -> None:
    """A planted call is named and does not happen."""
    with pytest.raises(CheckpointError, match=r"posix\.system|nt\.system"):
        torch_file.load(FIXTURES / "runs_code.pt", "runs_code.pt")
    assert "never" not in capfd.readouterr().out


def test_arrays_of_objects_are_refused(tmp_path: Path) -> None:
    """Of numpy only numbers are let in."""
    torch.save({"x": numpy.array([Custom()], dtype=object)}, tmp_path / "x.pt")
    with pytest.raises(CheckpointError):
        torch_file.load(tmp_path / "x.pt", "x.pt")


def test_another_protocol_is_told() -> None:
    """A file of a pickle protocol that weights_only does not read says so."""
    with pytest.raises(CheckpointError, match="pickle protocol"):
        torch_file.load(FIXTURES / "protocol4.pt", "protocol4.pt")


def test_a_damaged_file_is_one_line(tmp_path: Path) -> None:
    """Whatever torch says of a damaged file becomes one line."""
    (tmp_path / "x.pt").write_bytes(pickle.dumps({"w": 1})[:-3])
    with pytest.raises(CheckpointError) as caught:
        torch_file.load(tmp_path / "x.pt", "x.pt")
    assert "\n" not in caught.value.what


def test_nothing_stays_allowed() -> None:
    """Loading here does not change what torch lets others load."""
    before = set(torch.serialization.get_safe_globals())
    torch_file.load(FIXTURES / "complete.pt", "complete.pt")
    assert set(torch.serialization.get_safe_globals()) == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """A write that fails is an error with the reason, not a short file."""
    torch.save({"w": torch.arange(100_000.0)}, tmp_path / "x.pt")
    with pytest.raises((OSError, MachineError), match=r"No space left|cannot be written"):
        torch_file.load(tmp_path / "x.pt", "x.pt").write(Path("/dev/full"))
