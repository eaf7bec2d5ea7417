"""Files that were made to harm the reader, or were damaged by accident."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.readers.inspection import read_checkpoint
from tests.readers import fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
MOST_SECONDS = 5.0
MOST_BYTES = 400 << 20
START = b"\x80\x02"

READ = """
import re, sys, time
from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.readers.inspection import read_checkpoint
try:
    read_checkpoint(sys.argv[1])
except CheckpointError as error:
    assert "\\n" not in error.what
peak = int(re.search("VmHWM:\\\\s+(\\\\d+) kB", open("/proc/self/status").read())[1]) * 1024
print(time.process_time(), peak)
"""


def archive(path: Path, data: bytes, compression: int = zipfile.ZIP_STORED) -> None:
    """A torch.save archive around a pickle."""
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("a/data.pkl", data)
        file.writestr("a/version", "3\n")


def _shared_tuples() -> bytes:
    return START + b"K\x01" + b"q\x00h\x00\x86" * 60 + b"."


def _colliding_keys() -> bytes:
    keys = (((i + 1) * ((1 << 61) - 1)).to_bytes(10, "little") for i in range(50_000))
    return START + b"}(" + b"".join(b"\x8a\x0a" + key + b"N" for key in keys) + b"u."


def _laughs() -> bytes:
    levels = (b"]q" + bytes([i + 1]) + (b"h" + bytes([i]) + b"a") * 2 for i in range(40))
    return START + b"]q\x00" + b"".join(levels) + b"."


def _shared_states() -> bytes:
    keys = b"".join(b"X\x06\x00\x00\x00%06dN" % i for i in range(300_000))
    optimizer = b"}(X\x05\x00\x00\x00stateh\x00X\x0c\x00\x00\x00param_groups]u"
    many = b"".join(b"X\x09\x00\x00\x00opt_%05d" % i + optimizer for i in range(20_000))
    return START + b"}(X\x01\x00\x00\x00z}(" + keys + b"uq\x00" + many + b"u."


def _copied_bytes() -> bytes:
    text = b"X" + struct.pack("<I", 60_000) + b"a" * 60_000 + b"q\x01"
    first = b"c_codecs\nencode\nq\x00" + text + b"X\x06\x00\x00\x00latin1q\x02"
    return START + b"(" + first + b"h\x00h\x01h\x02\x86R" * 200_000 + b"l."


BOMBS: dict[str, Callable[[], bytes]] = {
    "memo index": lambda: START + b"}r" + struct.pack("<I", 50_000_000) + b".",
    "shared tuples": _shared_tuples,
    "shared tuple as key": lambda: START + b"}K\x01" + b"q\x00h\x00\x86" * 60 + b"K\x02s.",
    "colliding keys": _colliding_keys,
    "nested lists": lambda: START + b"]" * 200_000 + b"a" * 199_999 + b".",
    "nested tuples": lambda: START + b")" + b"\x85" * 200_000 + b".",
    "nested dicts": lambda: START + b"}" + b"K\x01}" * 200_000 + b"s" * 200_000 + b".",
    "marks": lambda: START + b"(" * 1_000_000 + b".",
    "many lists": lambda: START + b"(" + b"]" * 6_000_000 + b"l.",
    "many dicts": lambda: START + b"(" + b"}NNs" * 1_500_000 + b"l.",
    "many memo entries": lambda: b"\x80\x04(" + b"]\x94" * 3_000_000 + b"l.",
    "huge length": lambda: b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"abc.",
    "huge number": lambda: START + b"\x8b" + struct.pack("<i", 0x7FFFFFFF) + b"1.",
    "laughs": _laughs,
    "list within itself": lambda: START + b"]q\x00h\x00a.",
    "shared states": _shared_states,
    "copied bytes": _copied_bytes,
    "extension code": lambda: START + b"\x82\x01.",
    "no end": lambda: START + b"}",
    "nothing": lambda: b"",
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_stay_within_bounds(tmp_path: Path, name: str) -> None:
    """Whatever the pickle claims, memory and processor time are bounded and nothing crashes."""
    path = tmp_path / "bomb.pt"
    archive(path, BOMBS[name]())
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True, timeout=60
    )
    seconds, peak = map(float, done.stdout.split())
    assert seconds < MOST_SECONDS
    assert peak < MOST_BYTES


def test_a_compressed_bomb_is_refused(tmp_path: Path) -> None:
    """A small file that unpacks to hundreds of megabytes is refused by its declared size."""
    path = tmp_path / "bomb.pt"
    archive(path, b"\0" * (200 << 20), zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="more than the"):
        read_checkpoint(str(path))


def test_a_sparse_terabyte_is_read_at_once(tmp_path: Path) -> None:
    """The size of a file alone costs nothing."""
    path = tmp_path / "sparse.pt"
    with path.open("wb") as file:
        file.write(START + b"(")
        file.truncate(1 << 40)
    with pytest.raises(CheckpointError):
        read_checkpoint(str(path))


class Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, target: str) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Callable[..., int], tuple[str]]:
        return os.system, (f"touch {self.target}",)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_nothing_is_executed(tmp_path: Path, protocol: int) -> None:
    """A payload of any protocol is decoded and named, and does not run."""
    target = tmp_path / "ran"
    path = tmp_path / "ckpt.pt"
    archive(path, pickle.dumps({"payload": Runs(str(target))}, protocol=protocol))
    facts = read_checkpoint(str(path))
    assert facts.executable_globals
    assert not target.exists()


@pytest.mark.parametrize(
    "name", ["complete.pt", "legacy.pt", "protocol4.pt", "weights.safetensors", "whole_module.pt"]
)
def test_truncation_at_any_byte_is_told(tmp_path: Path, name: str) -> None:
    """A file that is cut anywhere gives facts or one line, never another exception."""
    whole = (FIXTURES / name).read_bytes()
    path = tmp_path / name
    for cut in sorted({0, 1, 2, 4, 8, 16, len(whole) - 1, *range(0, len(whole), max(1, len(whole) // 60))}):
        path.write_bytes(whole[:cut])
        read_or_decline(path)


def test_mutations_are_survived(tmp_path: Path) -> None:
    """A file with some bytes changed gives facts or one line, never another exception or a hang."""
    outcome = fuzz.run(400, seed=1, folder=tmp_path)
    assert not outcome.failures
    assert outcome.read > 0
    assert outcome.declined > 0


def read_or_decline(path: Path) -> None:
    """Read a file that may be damaged; only the one-line error may be raised."""
    try:
        read_checkpoint(str(path))
    except CheckpointError as error:
        told = error.what
    else:
        return
    assert "\n" not in told
    assert str(path) in told
