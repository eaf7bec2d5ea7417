"""The formats of checkpoint files, as their writers make them."""

from __future__ import annotations

import io
import json
import pickle
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


def save_as_torch_0_1(path: Path, value: Any) -> None:
    """Write a file as torch.save of PyTorch 0.1 did: what ``legacy_load`` of torch still reads."""
    tensors: dict[int, torch.Tensor] = {}

    class Pickler(pickle.Pickler):
        def persistent_id(self, node: object) -> str | None:
            if not isinstance(node, torch.Tensor):
                return None
            tensors[id(node)] = node
            return str(id(node))

    buffer = io.BytesIO()
    Pickler(buffer, 2).dump(value)
    storages = {tensor.untyped_storage()._cdata: tensor for tensor in tensors.values()}
    listed = pickle.dumps(len(tensors), 2)
    for number, tensor in tensors.items():
        listed += pickle.dumps((number, tensor.untyped_storage()._cdata, torch.FloatStorage), 2)
        sizes = (*tensor.shape, *tensor.stride(), tensor.storage_offset())
        listed += struct.pack(f"<ii{len(sizes)}q", tensor.dim(), 0, *sizes)
    stored = pickle.dumps(len(storages), 2)
    for number, tensor in storages.items():
        raw = bytes(tensor.untyped_storage())
        stored += (
            pickle.dumps((number, "cpu", torch.FloatStorage), 2) + struct.pack("<q", len(raw) // 4) + raw
        )
    stored += pickle.dumps([], 2)
    pack(path, {"sys_info": b"", "pickle": buffer.getvalue(), "tensors": listed, "storages": stored})


def pack(path: Path, files: dict[str, bytes]) -> None:
    """Write a tar archive."""
    with tarfile.open(path, "w:") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


def saved_bytes(value: Any) -> bytes:
    """What torch.save writes."""
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


def test_a_checkpoint_of_torch_0_1(tmp_path: Path) -> None:
    """A tar archive of torch's first format is read, and views are known by their storage."""
    path = tmp_path / "old.pt"
    base = torch.arange(6.0)
    save_as_torch_0_1(
        path, {"model": {"w": base.view(2, 3), "row": base[:3], "b": torch.ones(4)}, "epoch": 3}
    )
    assert torch.equal(torch.load(path, weights_only=False)["model"]["w"], base.view(2, 3))
    facts = read_checkpoint(str(path))
    assert facts.format == "torch_tar"
    assert present(facts) == {"model", "epoch"}
    assert facts.progress == {"epoch": 3}
    entries = {t.key: t for t in facts.tensors}
    assert entries["model.w"].shape == (2, 3)
    assert entries["model.w"].storage == entries["model.row"].storage != entries["model.b"].storage
    assert (entries["model.row"].storage_bytes, entries["model.row"].tensor_bytes) == (24, 12)
    assert (entries["model.w"].dtype, entries["model.w"].device) == ("float32", "cpu")


@pytest.mark.parametrize("name", ["tensors", "storages", "pickle"])
def test_a_damaged_checkpoint_of_torch_0_1(tmp_path: Path, name: str) -> None:
    """Whichever of its files is cut, there is one line that says so."""
    path = tmp_path / "old.pt"
    save_as_torch_0_1(path, {"model": {"w": torch.ones(4)}})
    with tarfile.open(path) as archive:
        files = {m.name: archive.extractfile(m).read() for m in archive}  # type: ignore[union-attr]
    pack(path, {**files, name: files[name][:-12]})
    with pytest.raises(CheckpointError, match=r"cut short|damaged"):
        read_checkpoint(str(path))


def test_a_nemo_archive(tmp_path: Path) -> None:
    """The weights within are read without unpacking them, and said to be no training state."""
    path = tmp_path / "model.nemo"
    weights = saved_bytes({"encoder.w": torch.zeros(100, 1000)})
    pack(path, {"./model_config.yaml": b"a: 1\nb:\n  c: 2\n", "./model_weights.ckpt": weights})
    facts = read_checkpoint(str(path))
    assert (facts.layout, facts.format) == ("nemo", "torch_zip")
    assert facts.path == str(path)
    assert present(facts) == {"model"}
    assert facts.states[StateKind.MODEL].where == "model_weights.ckpt"
    assert (
        facts.states[StateKind.OPTIMIZER].remedy == "resume from a .ckpt of exp_manager's checkpoints folder"
    )
    assert facts.read_bytes < facts.size_bytes / 20
    assert [p.name for p in tmp_path.iterdir()] == ["model.nemo"]


def test_a_parallel_nemo_archive(tmp_path: Path) -> None:
    """Each rank has its weights in a folder of its own, or all have theirs in one of DCP."""
    by_rank, sharded = tmp_path / "ranks.nemo", tmp_path / "sharded.nemo"
    config = {"model_config.yaml": b"a: 1\nb:\n  c: 2\n"}
    ranks = {f"mp_rank_0{i}/model_weights.ckpt": saved_bytes({"w": torch.zeros(2)}) for i in range(2)}
    pack(by_rank, {**config, **ranks})
    save_distributed(tmp_path / "dcp")
    files = {f"model_weights/{path.name}": path.read_bytes() for path in (tmp_path / "dcp").iterdir()}
    pack(sharded, {**config, **files})
    for path in (by_rank, sharded):
        facts = read_checkpoint(str(path))
        assert facts.layout == "nemo"
        assert "model" in present(facts)
        assert not facts.missing_parts


def test_a_packed_folder(tmp_path: Path) -> None:
    """The newest checkpoint of a folder that was packed is found as in the folder itself."""
    path = tmp_path / "run.tar"
    pack(
        path,
        {f"run/step-{n}/x.pt": saved_bytes({"model": {"w": torch.zeros(2)}, "step": n}) for n in (9, 10)},
    )
    facts = read_checkpoint(str(path))
    assert facts.path == f"{path}/run/step-10"
    assert facts.progress == {"step": 10}


def test_a_tar_archive_of_other_things(tmp_path: Path) -> None:
    """An archive without any checkpoint is declined."""
    pack(tmp_path / "notes.tar", {"notes.txt": b"hello"})
    with pytest.raises(CheckpointError, match="no file in it is a checkpoint"):
        read_checkpoint(str(tmp_path / "notes.tar"))


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


def raw_safetensors(path: Path, header: str) -> None:
    """A safetensors file with a header as it is written here, and eight bytes of data."""
    raw = header.encode()
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + b"\0" * 8)


ENTRY = '{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'


@pytest.mark.parametrize(
    "header",
    [
        f'{{"w":{ENTRY},"w":{ENTRY}}}',
        f'{{"w":5,"w":{ENTRY}}}',
        f'{{"w":{ENTRY},"\\u0077":{ENTRY}}}',
        f'{{"w":{ENTRY},"a:b":{ENTRY},"a:b":{ENTRY}}}',
        '{"w":{"dtype":"F32","shape":[9],"shape":[2],"data_offsets":[0,8]}}',
        f'{{"__metadata__":{{"a":"1","a":"2"}},"w":{ENTRY}}}',
    ],
)
def test_a_name_that_stands_twice_is_refused(tmp_path: Path, header: str) -> None:
    """Readers differ in which of the two they take, so neither is taken; however the name is spelled."""
    raw_safetensors(tmp_path / "x.safetensors", header)
    with pytest.raises(CheckpointError, match="twice"):
        read_checkpoint(str(tmp_path / "x.safetensors"))


def test_colons_in_names_and_values(tmp_path: Path) -> None:
    """A colon within a name or a value makes no key of it."""
    header = f'{{"__metadata__":{{"when":"12:30","a:b":"{{}}"}},"encoder:w":{ENTRY}}}'
    raw_safetensors(tmp_path / "x.safetensors", header)
    facts = read_checkpoint(str(tmp_path / "x.safetensors"))
    assert [tensor.key for tensor in facts.tensors] == ["encoder:w"]


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
        (b"\x0c\xdb\x3a\x2a" + b"\0" * 40, "Orbax"),
    ],
)
def test_other_files_are_named(tmp_path: Path, head: bytes, words: str) -> None:
    """What is often taken for a checkpoint is named for what it is."""
    path = tmp_path / "model.pt"
    path.write_bytes(head)
    with pytest.raises(CheckpointError, match=words):
        read_checkpoint(str(path))


def test_a_folder_of_another_kind_is_named(tmp_path: Path) -> None:
    """Where a folder holds no checkpoint, what it holds instead is told."""
    (tmp_path / "manifest.ocdbt").write_bytes(b"\x0c\xdb\x3a\x2a" + b"\0" * 40)
    with pytest.raises(CheckpointError, match="no file in it is a checkpoint") as caught:
        read_checkpoint(str(tmp_path))
    assert caught.value.hint == "manifest.ocdbt: it is a part of an Orbax checkpoint (JAX)"
