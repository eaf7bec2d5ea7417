"""TensorBoard's records are read as its own writers leave them, and refused where they are damaged."""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.readers.event_files import Scalar, is_event_file, masked_crc32c, records, scalars
from ckpt_doctor.readers.limits import Malformed


def written(folder: Path) -> bytes:
    """The file that a real SummaryWriter leaves."""
    writer_of = pytest.importorskip("tensorboardX").SummaryWriter
    with writer_of(str(folder)) as writer:
        for step in range(3):
            writer.add_scalar("train/loss", 1.5 + step, step * 10, walltime=1.7e9 + step)
        writer.add_text("args", "some text", 0)
        writer.add_histogram("weights", [0.0, 1.0, 2.0], 5)
        writer.add_scalar("lr", -2.0, 7, walltime=1.7e9 + 5)
    (path,) = folder.iterdir()
    return path.read_bytes()


def record(data: bytes) -> bytes:
    """A record with right checksums."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (length, struct.pack("<I", masked_crc32c(length)), data, struct.pack("<I", masked_crc32c(data)))
    )


def found(data: bytes, size: int = 64) -> list[Scalar]:
    """All scalars of a file that comes in pieces."""
    chunks = (data[at : at + size] for at in range(0, len(data), size))
    return [scalar for each in records(chunks) for scalar in scalars(each)]


def test_the_checksum() -> None:
    """CRC-32C has the value that its definition gives for the nine digits, masked as TFRecord masks it."""
    crc = 0xE3069283
    assert masked_crc32c(b"123456789") == ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 20])
def test_a_real_file(tmp_path: Path, size: int) -> None:
    """Tags, steps, wall times and values come back; texts and histograms are no scalars."""
    assert found(written(tmp_path), size) == [
        Scalar("train/loss", 0, 1.7e9, 1.5),
        Scalar("train/loss", 10, 1.7e9 + 1, 2.5),
        Scalar("train/loss", 20, 1.7e9 + 2, 3.5),
        Scalar("lr", 7, 1.7e9 + 5, -2.0),
    ]


def test_scalars_that_are_tensors() -> None:
    """Newer writers put a scalar into a tensor: as a list of floats, or as its bytes."""
    for content in (b"\x08\x01\x2d" + struct.pack("<f", 2.5), b"\x08\x02\x22\x08" + struct.pack("<d", 2.5)):
        value = b"\x0a\x04loss" + b"\x42" + bytes([len(content)]) + content
        summary = b"\x0a" + bytes([len(value)]) + value
        event = b"\x09" + struct.pack("<d", 3.0) + b"\x10\x08" + b"\x2a" + bytes([len(summary)]) + summary
        assert list(scalars(event)) == [Scalar("loss", 8, 3.0, 2.5)]


def test_negative_steps() -> None:
    """Steps are signed numbers of 64 bits."""
    value = b"\x0a\x01x\x15" + struct.pack("<f", 1.0)
    summary = b"\x0a" + bytes([len(value)]) + value
    event = b"\x09" + struct.pack("<d", 3.0) + b"\x10" + b"\xff" * 9 + b"\x01" + b"\x2a\x0a" + summary
    assert [scalar.step for scalar in scalars(event)] == [-1]


def test_is_event_file(tmp_path: Path) -> None:
    """A file is known by its first record."""
    data = written(tmp_path)
    assert is_event_file(data)
    assert not is_event_file(b"")
    assert not is_event_file(record(b"no such version"))
    assert not is_event_file(data[1:])


def test_cut_short(tmp_path: Path) -> None:
    """A file that is being written ends in the middle of a record: what is whole counts."""
    data = written(tmp_path)
    everything = found(data)
    for cut in range(len(data)):
        assert everything[: len(part := found(data[:cut]))] == part


def test_long_records_are_passed_over() -> None:
    """An image of megabytes is not decoded, and what follows it is found."""
    value = b"\x0a\x01x\x15" + struct.pack("<f", 1.0)
    event = b"\x09" + struct.pack("<d", 3.0) + b"\x2a" + bytes([len(value) + 2, 10, len(value)]) + value
    assert len(found(record(b"\0" * (2 << 20)) + record(event), 1 << 16)) == 1


@given(at=st.floats(0, 1, exclude_max=True), byte=st.binary(min_size=1, max_size=2))
def test_damaged_anywhere(tmp_path_factory: pytest.TempPathFactory, at: float, byte: bytes) -> None:
    """Other bytes are noticed by a checksum, or make the file end early: none becomes another value."""
    data = written(tmp_path_factory.mktemp("events"))
    start = int(at * len(data))
    damaged = data[:start] + byte + data[start + len(byte) :]
    everything = found(data)
    with contextlib.suppress(Malformed):
        part = found(damaged)
        assert part == everything[: len(part)]


@given(st.binary(max_size=64))
def test_nonsense_in_a_record(data: bytes) -> None:
    """A record that holds no event is refused, or holds no scalar; nothing else happens."""
    with contextlib.suppress(Malformed):
        assert all(isinstance(each, Scalar) for each in scalars(data))
