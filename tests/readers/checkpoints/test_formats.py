"""The formats of checkpoint files, as their writers make them."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import save_file

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.checkpoint import CheckpointFacts
from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint


def saved(path: Path, value: Any, **options: Any) -> CheckpointFacts:
    """The facts of what torch.save writes."""
    torch.save(value, path, **options)
    return read_checkpoint(str(path))


def present(facts: CheckpointFacts) -> set[str]:
    """Names of the states that are there."""
    return {kind.value for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}


TENSORS: dict[str, torch.Tensor] = {
    "dense": torch.zeros(3, 4),
    "half": torch.zeros(3, dtype=torch.float16),
    "float8": torch.zeros(4, dtype=torch.float8_e4m3fn),
    "unsigned": torch.zeros(4, dtype=torch.uint16),
    "complex": torch.zeros(2, dtype=torch.complex64),
    "scalar": torch.tensor(1.0),
    "empty": torch.zeros(0, 5),
    "expanded": torch.zeros(1).expand(1000),
    "parameter": torch.nn.Parameter(torch.zeros(2)),
    "sparse": torch.zeros(3, 3).to_sparse(),
    "meta": torch.zeros(7, device="meta"),
    "quantised": torch.quantize_per_tensor(torch.zeros(4), 0.1, 0, torch.qint8),
}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", TENSORS)
def test_tensors_of_every_kind(tmp_path: Path, name: str, legacy: bool) -> None:
    """Dtype and shape of every kind of tensor are read."""
    tensor = TENSORS[name]
    facts = saved(tmp_path / "x.pt", {"model": {"w": tensor}}, _use_new_zipfile_serialization=not legacy)
    entry = next(t for t in facts.tensors if t.key == "model.w")
    assert entry.shape == tuple(tensor.shape)
    assert entry.dtype == str(tensor.dtype).removeprefix("torch.")
    assert not facts.missing_parts


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_protocol(tmp_path: Path, protocol: int) -> None:
    """The pickle protocol makes no difference."""
    state = {"model": {"w": torch.zeros(2)}, "step": 3}
    facts = saved(tmp_path / "x.pt", state, pickle_protocol=protocol)
    assert present(facts) == {"model", "step"}


def test_a_renamed_file_and_a_buffer(tmp_path: Path) -> None:
    """The name of the folder within the archive does not matter."""
    buffer = io.BytesIO()
    torch.save({"model": {"w": torch.zeros(2)}}, buffer)
    path = tmp_path / "other"
    path.write_bytes(buffer.getvalue())
    assert present(read_checkpoint(str(path))) == {"model"}


def test_views_are_counted_by_storage(tmp_path: Path) -> None:
    """A view takes its whole storage along, and shared storages are one."""
    big = torch.zeros(100, 100)
    facts = saved(tmp_path / "x.pt", {"model": {"row": big[0], "other": big[1]}})
    assert {t.storage for t in facts.tensors} == {":0"}
    assert {(t.storage_bytes, t.tensor_bytes) for t in facts.tensors} == {(40_000, 400)}


def test_a_record_that_was_removed_is_missed(tmp_path: Path) -> None:
    """A storage that the pickle refers to and the archive lacks is named."""
    whole, path = tmp_path / "whole.pt", tmp_path / "part.pt"
    torch.save({"model": {"a": torch.zeros(2), "b": torch.zeros(2)}}, whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            if not name.endswith("/data/1"):
                new.writestr(name, old.read(name))
    assert read_checkpoint(str(path)).missing_parts == ("1 storages are missing from the archive: 1",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("two folders", "more than one folder"),
        ("no version", "'version' is missing"),
        ("twice", "two records"),
    ],
)
def test_archives_that_torch_refuses(tmp_path: Path, change: str, words: str) -> None:
    """What torch.load refuses is refused, with the reason."""
    path = tmp_path / "x.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/data.pkl", b"\x80\x02}.")
        if change == "two folders":
            file.writestr("b/version", "3\n")
        if change != "no version":
            file.writestr("a/version", "3\n")
        if change == "twice":
            with pytest.warns(UserWarning, match="Duplicate name"):
                file.writestr("a/version", "3\n")
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(str(path))


@pytest.mark.parametrize("name", ["model.ckpt-9.index", "model.ckpt-9.data-00000-of-00001"])
def test_files_of_tensorflow_are_known_by_their_names(tmp_path: Path, name: str) -> None:
    """They are declined by name, where their bytes tell nothing; what is in our formats is still read."""
    (tmp_path / name).write_bytes(bytes(range(1, 200)))
    with pytest.raises(CheckpointError, match="TensorFlow"):
        read_checkpoint(str(tmp_path / name))
    torch.save({"step": 1}, tmp_path / name)
    assert read_checkpoint(str(tmp_path / name)).format == "torch_zip"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (("sys_info", "pickle", "tensors", "storages"), "torch 0.1"),
        (("./model_config.yaml", "./model_weights.ckpt"), "NeMo archive"),
        (("notes.txt",), "a tar archive"),
    ],
)
def test_tar_archives_are_named(tmp_path: Path, members: tuple[str, ...], words: str) -> None:
    """A tar archive is told apart by its members, and declined with what to do."""
    with tarfile.open(tmp_path / "model.tar", "w") as archive:
        for name in members:
            archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(CheckpointError, match=words) as caught:
        read_checkpoint(str(tmp_path / "model.tar"))
    assert caught.value.hint


def write_safetensors(path: Path, header: dict[str, Any], data: bytes) -> None:
    """A safetensors file with any header."""
    raw = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}, "shape 8"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}, "wrongly"),
        ({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}, "wrongly"),
        ({"dtype": "F32", "shape": [2], "data_offsets": [8, 16]}, "cut short"),
        ({"dtype": "F32", "shape": "many", "data_offsets": [0, 8]}, "wrongly"),
    ],
)
def test_headers_that_contradict_themselves(tmp_path: Path, entry: dict[str, Any], words: str) -> None:
    """A header of safetensors must agree with itself and with the file."""
    path = tmp_path / "x.safetensors"
    write_safetensors(path, {"w": entry}, b"\0" * 8)
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(str(path))


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    """A file that the index names and the folder lacks makes the checkpoint incomplete."""
    save_file({"a": torch.zeros(2)}, tmp_path / "model-00001-of-00002.safetensors")
    index = {"weight_map": {name: f"model-0000{i}-of-00002.safetensors" for i, name in ((1, "a"), (2, "b"))}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-00002-of-00002.safetensors is missing" in read_checkpoint(str(tmp_path)).missing_parts


def save_distributed(folder: Path) -> None:
    """A DCP folder of one process."""
    state = {"model": {"w": torch.zeros(4, 4)}, "step": 7, "rng": torch.get_rng_state()}
    dcp.save(state, checkpoint_id=folder, no_dist=True)


def test_distributed_checkpoint(tmp_path: Path) -> None:
    """Tensors come from the metadata, plain values from their slices."""
    save_distributed(tmp_path / "ckpt")
    facts = read_checkpoint(str(tmp_path / "ckpt"))
    assert (facts.format, facts.layout) == ("dcp", "dcp")
    assert present(facts) == {"model", "step", "torch_rng"}
    assert facts.progress == {"step": 7}
    assert facts.read_bytes < facts.size_bytes


def test_distributed_checkpoint_without_its_files(tmp_path: Path) -> None:
    """A shard that is gone is named; without metadata nothing is said of any state."""
    folder = tmp_path / "ckpt"
    save_distributed(folder)
    metadata = (folder / ".metadata").read_bytes()
    (folder / ".metadata").unlink()
    facts = read_checkpoint(str(folder))
    assert {p.status for p in facts.states.values()} == {PresenceStatus.UNKNOWN}
    assert facts.missing_parts
    (folder / ".metadata").write_bytes(metadata)
    for shard in folder.glob("*.distcp"):
        shard.unlink()
    facts = read_checkpoint(str(folder))
    assert facts.states[StateKind.MODEL].status is PresenceStatus.PRESENT
    assert any("is missing" in part for part in facts.missing_parts)


def test_torchscript_is_named(tmp_path: Path) -> None:
    """A TorchScript archive is read as weights and said to be one."""
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2)), path)
    facts = read_checkpoint(str(path))
    assert facts.format == "torchscript"
    assert present(facts) == {"model"}


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"\x1f\x8b\x08\x00" + b"\0" * 20, "gzip"),
        (b"GGUF\x03\0\0\0", "GGUF"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x93NUMPY\x01\0", "numpy"),
        (b"\0" * 64, "zero bytes"),
        (b"\x08\x08\x12\x07pytorch", "ONNX"),
    ],
)
def test_other_files_are_named(tmp_path: Path, head: bytes, words: str) -> None:
    """What is often taken for a checkpoint is named for what it is."""
    path = tmp_path / "model.pt"
    path.write_bytes(head)
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(str(path))
