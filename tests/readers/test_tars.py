"""Tar archives, as Python's tarfile writes them and as somebody damaged them."""

from __future__ import annotations

import io
import tarfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.readers.limits import Budget, Malformed
from ckpt_doctor.readers.sources import Memory, Meter
from ckpt_doctor.readers.tars import Tar, TarStore

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
NAMES = st.text("abé.-_", min_size=1, max_size=90).filter(lambda name: name.strip("."))


def archive(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """An archive of files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:", format=form) as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def read(data: bytes) -> dict[str, bytes]:
    """All files of an archive with their content."""
    tar = Tar(Memory("", data), Budget())
    windows = {name: tar.window(name) for name in tar}
    return {name: window.read(0, window.size_bytes) for name, window in windows.items()}


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=30, deadline=None)
@given(st.dictionaries(NAMES, st.binary(max_size=1500), max_size=5))
def test_every_form(form: str, files: dict[str, bytes]) -> None:
    """Names and contents are those that were written, in all three forms."""
    assert read(archive(files, FORMATS[form])) == files


@pytest.mark.parametrize("form", FORMATS)
def test_long_names(form: str) -> None:
    """Names beyond the hundred bytes of a header are whole: a prefix, a GNU name, a pax path."""
    files = {"/".join(["folder" * 5] * 5 + ["last.pt"]): b"data"}
    assert read(archive(files, FORMATS[form])) == files


def test_sizes_beyond_the_octal_digits() -> None:
    """A size that needs more than eleven octal digits is read, in GNU's base 256 and in a pax header."""
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        member = tarfile.TarInfo("large.pt")
        member.size = 10 << 30
        with pytest.raises(Malformed, match=r"its file large\.pt is cut short"):
            read(member.tobuf(form) + b"\0" * 1024)


def test_only_files_within_the_archive() -> None:
    """Links and folders hold nothing, and a name that points out of the archive is none."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:") as tar:
        for name, kind in (("a", tarfile.DIRTYPE), ("a/link", tarfile.SYMTYPE), ("/etc/x", tarfile.REGTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "../../x"
            tar.addfile(member)
        for name in ("../up.pt", "./a/./in.pt"):
            tar.addfile(tarfile.TarInfo(name))
    assert read(buffer.getvalue()) == {"a/in.pt": b""}


def test_an_archive_is_a_folder() -> None:
    """Its files are listed and opened as those of a folder."""
    data = archive({"run/model.pt": b"m", "run/deep/a.pt": b"aa", "latest": b"run"})
    store = TarStore("x.tar", Tar(Memory("", data), Budget()))
    assert store.is_folder("x.tar")
    assert store.is_folder("x.tar/run")
    assert not store.is_folder("x.tar/latest")
    assert store.listing("x.tar") == (["run"], ["latest"])
    assert store.files(store.join("x.tar", "run")) == {"deep/a.pt": 2, "model.pt": 1}
    source = store.open("x.tar/run/model.pt", "model.pt", Meter())
    assert (source.name, source.read(0, 10)) == ("model.pt", b"m")
    with pytest.raises(Malformed):
        store.open("x.tar/run", "run", Meter())


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 3000), st.binary(min_size=1, max_size=40))
def test_damage_is_refused_or_harmless(at: int, bytes_put: bytes) -> None:
    """Whatever is written over an archive, it is read or refused with a reason."""
    data = bytearray(archive({"a" * 120: b"x" * 700, "b": b"y" * 20}))
    data[at : at + len(bytes_put)] = bytes_put
    with suppress(Malformed):
        assert all(len(content) <= len(data) for content in read(bytes(data)).values())


def test_an_archive_without_end_is_bounded() -> None:
    """Thousands of files make no checkpoint: the walk over their headers stops."""
    header = tarfile.TarInfo("sample.png").tobuf()
    with pytest.raises(Malformed, match="more than"):
        read(header * 5000)
