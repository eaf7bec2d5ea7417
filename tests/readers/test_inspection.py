"""Reading checkpoints from end to end."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.states import PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint, written_since

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
TRUTH: dict[str, list[str]] = json.loads((FIXTURES / "truth.json").read_text())

MEASURE = """
import re, sys, time
from ckpt_doctor.readers.inspection import read_checkpoint, written_since
facts = read_checkpoint(sys.argv[1])
seconds = time.process_time()
assert not {"torch", "numpy"} & set(sys.modules), "inspect imported torch or numpy"
peak = int(re.search("VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
print(seconds, peak, facts.read_bytes, facts.size_bytes)
"""


def measure(path: Path) -> tuple[float, float, float, float]:
    """Processor seconds, peak memory, bytes read and size of the file, of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    seconds, memory, read, size = map(float, done.stdout.split())
    return seconds, memory, read, size


@pytest.mark.parametrize("name", sorted(TRUTH))
def test_states_of_the_fixtures(name: str) -> None:
    """Every state of every fixture is told present or absent as it is."""
    facts = read_checkpoint(str(FIXTURES / name))
    present = {kind.value for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert present - {StateKind.LOADER_ARGUMENTS.value} == set(TRUTH[name])
    assert not [kind for kind, p in facts.states.items() if p.status is PresenceStatus.UNKNOWN]


def test_absent_states_name_a_remedy() -> None:
    """Each absent state comes with something to do about it."""
    facts = read_checkpoint(str(FIXTURES / "plain.pt"))
    absent = [p for p in facts.states.values() if p.status is PresenceStatus.ABSENT]
    assert absent
    assert all(p.remedy for p in absent)


def test_places_and_progress() -> None:
    """Key paths and counters are those of the file."""
    facts = read_checkpoint(str(FIXTURES / "complete.pt"))
    assert facts.states[StateKind.SAMPLER_RNG].where == "sampler.generator"
    assert facts.states[StateKind.NUMPY_RNG].where == "rng.numpy"
    assert facts.states[StateKind.CUDA_RNG].detail is PresenceDetail.EMPTY
    assert facts.progress == {"step": 2, "epoch": 1, "position": 2}


def test_tensors_are_described_without_being_read() -> None:
    """Shape, dtype, device and bytes of a tensor are known."""
    facts = read_checkpoint(str(FIXTURES / "plain.pt"))
    weight = next(t for t in facts.tensors if t.key == "model.0.weight")
    assert (weight.dtype, weight.shape, weight.device) == ("float32", (16, 8), "cpu")
    assert (weight.storage_bytes, weight.tensor_bytes) == (512, 512)


def test_globals_that_run_code_are_named_and_do_not_run(capfd: pytest.CaptureFixture[str]) -> None:
    """A planted os.system is reported, and nothing of it happens."""
    facts = read_checkpoint(str(FIXTURES / "runs_code.pt"))
    assert facts.executable_globals == (f"{os.system.__module__}.system",)
    assert "never" not in capfd.readouterr().out


def test_honest_files_name_no_such_globals() -> None:
    """No other fixture is accused of running code."""
    others = [name for name in TRUTH if name != "runs_code.pt"]
    assert not [name for name in others if read_checkpoint(str(FIXTURES / name)).executable_globals]


def test_compiled_model_is_seen() -> None:
    """The prefix of torch.compile tells that the model was compiled."""
    assert read_checkpoint(str(FIXTURES / "compiled.pt")).compiled is True
    assert read_checkpoint(str(FIXTURES / "plain.pt")).compiled is None


def test_several_gigabytes_are_read_in_a_fraction_of_a_second(tmp_path: Path) -> None:
    """Time, memory and bytes read do not follow the size of the tensors."""
    path = tmp_path / "large.pt"
    state = {"model": {f"w{i}": torch.empty(1024, 1024, 128, device="meta") for i in range(8)}, "step": 3}
    write_without_data(path, state)
    seconds, memory, read, size = measure(path)
    assert size > 4 << 30
    assert seconds < 1.0
    assert memory < 60 << 20
    assert read < 64 << 10


def write_without_data(path: Path, state: dict[str, Any]) -> None:
    """Save tensors of the right size as holes in a sparse file."""
    filled = {name: torch.empty_like(t, device="cpu") for name, t in state["model"].items()}
    with torch.serialization.skip_data():
        torch.save({**state, "model": filled}, path)


def test_forty_thousand_entries_are_read_quickly(tmp_path: Path) -> None:
    """A checkpoint of very many small tensors stays below the limits."""
    path = tmp_path / "many.pt"
    torch.save({"model": {f"layer.{i}.weight": torch.zeros(1) for i in range(40_000)}, "step": 1}, path)
    seconds, memory, _, _ = measure(path)
    assert seconds < 2.5
    assert memory < 400 << 20
    assert len(read_checkpoint(str(path)).tensors) == 40_000


@pytest.mark.parametrize("make", ["missing", "empty", "folder", "text", "fifo"])
def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path, make: str) -> None:
    """Bad input gives one line that names the path."""
    path = tmp_path / "ckpt.pt"
    if make == "empty":
        path.touch()
    elif make == "folder":
        path.mkdir()
    elif make == "text":
        path.write_text("not a checkpoint")
    elif make == "fifo":
        os.mkfifo(path)
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(str(path))
    assert str(path) in caught.value.what
    assert "\n" not in caught.value.what


def test_a_damaged_file_of_a_folder_makes_its_state_unknown(tmp_path: Path) -> None:
    """A folder whose optimizer file is cut short does not say that the optimizer is absent."""
    torch.save({"w": torch.zeros(3)}, tmp_path / "model.pt")
    torch.save({"state": {}, "param_groups": []}, tmp_path / "optimizer.pt")
    whole = (tmp_path / "optimizer.pt").read_bytes()
    (tmp_path / "optimizer.pt").write_bytes(whole[: len(whole) // 2])
    facts = read_checkpoint(str(tmp_path))
    assert facts.states[StateKind.OPTIMIZER].status is PresenceStatus.UNKNOWN
    assert "optimizer.pt" in (facts.states[StateKind.OPTIMIZER].why or "")
    assert facts.states[StateKind.MODEL].status is PresenceStatus.PRESENT


def test_keys_are_shown_without_control_characters(tmp_path: Path) -> None:
    """Escape sequences, line breaks and writing marks in keys are escaped."""
    path = tmp_path / "ckpt.pt"
    torch.save({"model": {"\x1b[31mred\n\u202eevil": torch.zeros(2)}, "step": 1}, path)
    keys = [t.key for t in read_checkpoint(str(path)).tensors]
    assert keys == ["model.\\x1b[31mred\\x0a\\u202eevil"]


def test_file_names_are_shown_without_control_characters(tmp_path: Path) -> None:
    """The names of files in a folder are as little to be trusted as keys."""
    torch.save({"model": {"w": torch.zeros(2)}}, tmp_path / "a\nb\x1b[31m.pt")
    facts = read_checkpoint(str(tmp_path))
    assert facts.states[StateKind.MODEL].where == "a\\x0ab\\x1b[31m.pt: model"
    assert facts.tensors[0].key.isprintable()
    assert facts.tensors[0].storage.isprintable()


@pytest.mark.parametrize(
    ("settings", "compiled", "half"),
    [
        ({"config": {"compile": True, "dtype": "float16"}}, True, True),
        ({"hyper_parameters": {"precision": "16-mixed"}}, None, True),
        ({"ds_config": {"fp16": {"enabled": True}}}, None, True),
        ({"config": {"compile": False, "dtype": "bfloat16"}}, None, False),
    ],
)
def test_settings_tell_what_the_run_had(
    tmp_path: Path, settings: dict[str, Any], compiled: bool | None, half: bool
) -> None:
    """Settings in the file say whether the model was compiled, and whether a scaler is missed."""
    path = tmp_path / "ckpt.pt"
    torch.save({"model": {"w": torch.zeros(2)}, "step": 1, **settings}, path)
    facts = read_checkpoint(str(path))
    assert facts.compiled is compiled
    assert (facts.states[StateKind.SCALER].why is not None) is half


def test_what_lies_beside_a_checkpoint_is_no_damage(tmp_path: Path) -> None:
    """Arrays, logs, token files and pickles of other things in the folder are passed over."""
    torch.save({"model": {"w": torch.zeros(2)}, "step": 1}, tmp_path / "ckpt.pt")
    (tmp_path / "data.npy").write_bytes(b"\x93NUMPY\x01\0" + b"\0" * 50)
    (tmp_path / "log.gz").write_bytes(b"\x1f\x8b\x08" + b"\0" * 50)
    (tmp_path / "train.bin").write_bytes(bytes(range(256)) * 20)
    (tmp_path / "meta.pkl").write_bytes(pickle.dumps({"vocab_size": 65}))
    (tmp_path / "README.md").write_text("notes")
    facts = read_checkpoint(str(tmp_path))
    assert not facts.missing_parts
    assert not [kind for kind, p in facts.states.items() if p.status is PresenceStatus.UNKNOWN]


def test_a_pointer_in_place_of_a_part_is_damage(tmp_path: Path) -> None:
    """A part of a checkpoint that was never downloaded is not the same as none."""
    torch.save({"w": torch.zeros(2)}, tmp_path / "model.pt")
    (tmp_path / "optimizer.pt").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    facts = read_checkpoint(str(tmp_path))
    assert facts.missing_parts == ("optimizer.pt is damaged: it is a Git LFS pointer, not the file itself",)
    assert facts.states[StateKind.OPTIMIZER].status is PresenceStatus.UNKNOWN


def test_snapshots_of_the_hub_are_followed(tmp_path: Path) -> None:
    """The cache of the Hugging Face hub is made of links into its blobs."""
    (tmp_path / "blobs").mkdir()
    snapshot = tmp_path / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "blobs" / "f00").write_bytes((FIXTURES / "weights.safetensors").read_bytes())
    (snapshot / "model.safetensors").symlink_to(Path("..") / ".." / "blobs" / "f00")
    assert read_checkpoint(str(snapshot)).states[StateKind.MODEL].status is PresenceStatus.PRESENT


def test_links_do_not_lead_out_of_a_folder_or_in_circles(tmp_path: Path) -> None:
    """Links within the folder are followed; those out of it, in circles and to nowhere are not."""
    outside = tmp_path / "outside"
    outside.mkdir()
    torch.save({"step": 1, "optimizer": {"state": {}, "param_groups": []}}, outside / "secret.pt")
    folder = tmp_path / "ckpt"
    folder.mkdir()
    torch.save({"w": torch.zeros(2)}, folder / "model.pt")
    (folder / "again.pt").symlink_to(folder / "model.pt")
    (folder / "secret.pt").symlink_to(outside / "secret.pt")
    (folder / "circle").symlink_to(folder)
    (folder / "nowhere.pt").symlink_to(folder / "gone.pt")
    os.mkfifo(folder / "pipe.pt")
    facts = read_checkpoint(str(folder))
    assert facts.states[StateKind.MODEL].status is PresenceStatus.PRESENT
    assert facts.states[StateKind.OPTIMIZER].status is PresenceStatus.ABSENT


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_what_may_not_be_read_is_told(tmp_path: Path) -> None:
    """A file without permission is one line."""
    path = tmp_path / "ckpt.pt"
    torch.save({"w": torch.zeros(2)}, path)
    path.chmod(0)
    with pytest.raises(CheckpointError, match="cannot be read"):
        read_checkpoint(str(path))


def test_the_collector_is_left_as_it_was() -> None:
    """Reading pauses the garbage collector only for its own time."""
    gc.enable()
    read_checkpoint(str(FIXTURES / "plain.pt"))
    assert gc.isenabled()
    gc.disable()
    try:
        read_checkpoint(str(FIXTURES / "plain.pt"))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_saved_over_since(tmp_path: Path) -> None:
    """A file or folder was written since a moment if any file of it was; one that is not there was not."""
    folder = tmp_path / "step_5"
    (folder / "shard").mkdir(parents=True)
    for name in ("a.pt", "shard/b.pt"):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (100.0, 100.0))
    for path in (folder, folder / "a.pt"):
        assert not written_since(str(path), 100.0)
        assert written_since(str(path), 99.0)
    os.utime(folder / "shard/b.pt", (200.0, 200.0))
    assert written_since(str(folder), 100.0)
    assert not written_since(str(tmp_path / "none"), 0.0)
