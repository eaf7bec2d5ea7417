"""The central directory of zip archives, against Python's zipfile."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.readers.limits import Budget, Malformed
from ckpt_doctor.readers.sources import Memory
from ckpt_doctor.readers.zips import Archive

NAMES = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0/\\"), min_size=1, max_size=12
)
LIMIT = 1 << 20


def archived(records: dict[str, bytes], method: int = zipfile.ZIP_STORED, force_zip64: bool = False) -> bytes:
    """An archive with these records."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, data in records.items():
            with file.open(name, "w", force_zip64=force_zip64) as record:
                record.write(data)
    return buffer.getvalue()


def opened(data: bytes) -> Archive:
    """The archive in these bytes."""
    return Archive(Memory("", data), Budget())


@given(
    st.dictionaries(NAMES, st.binary(max_size=300), max_size=8),
    st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_records_are_what_zipfile_wrote(records: dict[str, bytes], method: int, force_zip64: bool) -> None:
    """Names, sizes and contents agree, stored or deflated, with 64-bit fields or without."""
    archive = opened(archived(records, method, force_zip64))
    assert set(archive) == set(records)
    for name, data in records.items():
        assert archive.size_bytes(name) == len(data)
        assert archive.read(name, LIMIT) == data


@given(st.binary(max_size=400))
@settings(max_examples=100, deadline=None)
def test_any_bytes_are_an_archive_or_malformed(data: bytes) -> None:
    """Random bytes raise nothing but Malformed."""
    with pytest.raises(Malformed):
        opened(data)


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_changed_byte_is_survived(data: st.DataObject) -> None:
    """An archive with a changed byte is read or declined."""
    raw = bytearray(archived({"a/data.pkl": b"x" * 50, "a/version": b"3"}))
    raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    try:
        archive = opened(bytes(raw))
        for name in archive:
            archive.read(name, LIMIT)
    except Malformed:
        return


def test_a_long_comment_is_passed_over() -> None:
    """The end record is found before a comment of any length."""
    buffer = io.BytesIO(archived({"a": b"1"}))
    with zipfile.ZipFile(buffer, "a") as file:
        file.comment = b"c" * 60_000
    assert opened(buffer.getvalue()).read("a", LIMIT) == b"1"


def test_limits_are_those_of_the_caller() -> None:
    """A record that claims more than it may is refused before it is unpacked."""
    with pytest.raises(Malformed, match="more than"):
        opened(archived({"a": b"\0" * 5000}, zipfile.ZIP_DEFLATED)).read("a", 1000)


def test_a_cut_archive_says_so() -> None:
    """Without its end an archive is cut short."""
    with pytest.raises(Malformed, match="cut short"):
        opened(archived({"a": b"1" * 100})[:60])
