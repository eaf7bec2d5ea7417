"""The structural unpickler against Python's own."""

from __future__ import annotations

import contextlib
import pickle
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.readers.limits import Budget, Malformed
from ckpt_doctor.readers.pickles import Truncated, decode, decode_growing
from ckpt_doctor.readers.tree import Blob, Global, Key, Record

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 59), 1 << 59)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=40)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=8) | st.integers(-9, 9), inner, max_size=5)
        | st.tuples(inner, inner)
    ),
    max_leaves=30,
)


def value_of(data: bytes) -> Any:
    """The decoded value of a pickle."""
    return decode(data, Budget()).value


@given(TREES, st.integers(2, 5))
@settings(max_examples=150, deadline=None)
def test_plain_values_come_back_as_they_were(tree: Any, protocol: int) -> None:
    """Containers of plain values decode to themselves in every protocol that torch writes."""
    assert value_of(pickle.dumps(tree, protocol=protocol)) == tree


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.floats(allow_nan=False), max_size=5))
@settings(max_examples=50, deadline=None)
def test_text_protocols_come_back_too(tree: dict[str, Any]) -> None:
    """Protocols 0 and 1, which old files have, decode alike."""
    small = {key: value for key, value in tree.items() if abs(value) < 1 << 59}
    for protocol in (0, 1):
        assert value_of(pickle.dumps(small, protocol=protocol)) == small


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_any_bytes_decode_or_are_malformed(data: bytes) -> None:
    """Random bytes raise nothing but Malformed."""
    with contextlib.suppress(Malformed):
        decode(data, Budget())


@given(TREES, st.data())
@settings(max_examples=100, deadline=None)
def test_a_cut_pickle_is_malformed(tree: Any, data: st.DataObject) -> None:
    """A pickle that ends early is never taken for a whole one."""
    whole = pickle.dumps(tree, protocol=4)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(Malformed):
        decode(whole[:cut], Budget())


def test_classes_stay_names() -> None:
    """An object of an unknown class is a record with its state."""
    raw = b"\x80\x02cmy.module\nMyClass\n)\x81}X\x01\x00\x00\x00aK\x01sb."
    record = value_of(raw)
    assert isinstance(record, Record)
    assert record.class_path == "my.module.MyClass"
    assert record.attributes() == {"a": 1}


def test_nested_classes_of_protocol_2_are_folded() -> None:
    """``getattr(<class>, "Inner")`` names the inner class and calls nothing."""
    raw = b"\x80\x02c__builtin__\ngetattr\ncmy.module\nOuter\nX\x05\x00\x00\x00Inner\x86R."
    name = value_of(raw)
    assert isinstance(name, Global)
    assert name.path == "my.module.Outer.Inner"


def test_ordered_dicts_are_dicts() -> None:
    """The containers of collections decode to plain ones."""
    assert value_of(pickle.dumps(OrderedDict(a=1, b=2), protocol=2)) == {"a": 1, "b": 2}


def test_tuples_as_keys_are_not_hashed() -> None:
    """A key that could be costly to hash is wrapped."""
    (key,) = value_of(pickle.dumps({(1, 2): 3}, protocol=2))
    assert isinstance(key, Key)
    assert key.value == (1, 2)


def test_long_bytes_are_not_copied() -> None:
    """Long bytes stay a window on the pickle."""
    blob = value_of(pickle.dumps(b"x" * 1000, protocol=4))
    assert isinstance(blob, Blob)
    assert blob.size_bytes == 1000


def test_reading_grows_only_as_far_as_needed() -> None:
    """A pickle at the head of a large file is read without the rest."""
    data = pickle.dumps(list(range(20_000)), protocol=2)
    asked: list[int] = []

    def read(offset: int, length: int) -> bytes:
        asked.append(length)
        return (data + b"\0" * (1 << 20))[offset : offset + length]

    decoded = decode_growing(read, 0, len(data) + (1 << 20), Budget(), first_bytes=1024)
    assert decoded.end == len(data)
    assert max(asked) <= 4 * len(data)


def test_truncation_is_told_from_damage() -> None:
    """Running out of bytes is Truncated; a bad opcode is not."""
    with pytest.raises(Truncated):
        decode(b"\x80\x02]", Budget())
    with pytest.raises(Malformed) as caught:
        decode(b"\x80\x02\xff" + b"." * 20, Budget())
    assert not isinstance(caught.value, Truncated)
