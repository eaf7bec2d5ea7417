"""Headers of safetensors: the library's own form is taken apart faster, and says the same as any other."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save

from ckpt_doctor.readers.checkpoints import safetensors
from ckpt_doctor.readers.documents import Reading
from ckpt_doctor.readers.limits import Budget, Malformed
from ckpt_doctor.readers.sources import Memory

Told = list[tuple[str, str, tuple[int, ...], int]]
NAMES = st.text("ab.:{}[]é0", max_size=8)
DTYPES = st.sampled_from(["F32", "BF16", "I64", "BOOL", "F8_E4M3", "NEW_16"])
ENTRIES = st.builds(
    lambda dtype, shape, at, size: {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]},
    DTYPES,
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 9),
    st.sampled_from([0, 1, 4, 8, 16, 36]),
)
METADATA = st.dictionaries(st.text("ab:", max_size=3), st.text("ab:,{", max_size=5), max_size=2)


def compact(header: dict[str, Any]) -> str:
    """The header as the library writes it."""
    return json.dumps(header, separators=(",", ":"), ensure_ascii=False)


def told(text: str) -> Told | str:
    """Name, dtype, shape and bytes of each tensor, or why there are none."""
    raw = text.encode("utf-8", "surrogatepass")
    reading = Reading(Memory("", struct.pack("<Q", len(raw)) + raw + b"\0" * 100), Budget())
    try:
        root = safetensors.read(reading).root
    except Malformed as error:
        return error.why
    return [(key, t.dtype, t.shape, t.storage.size_bytes) for key, t in root.items()]


def told_slowly(text: str) -> Told | str:
    """The same, without the faster way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safetensors, "_written_by_the_library", lambda raw, parse: None)
        return told(text)


def test_what_the_library_writes_is_read_the_faster_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of the library itself does not need the general way, with metadata and without."""
    monkeypatch.delattr(safetensors, "_written_by_others")
    tensors = {"a": torch.zeros(2, 3), "b.weight": torch.zeros(4, dtype=torch.bfloat16), "c": torch.tensor(1)}
    for metadata in (None, {"format": "pt", "when": "12:30"}):
        document = safetensors.read(Reading(Memory("", save(tensors, metadata)), Budget()))
        assert {key: (t.dtype, t.shape) for key, t in document.root.items()} == {
            "a": ("float32", (2, 3)),
            "b.weight": ("bfloat16", (4,)),
            "c": ("int64", ()),
        }
        assert document.metadata == (metadata or {})


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(NAMES, ENTRIES, max_size=4), st.none() | METADATA)
def test_both_ways_say_the_same(tensors: dict[str, Any], metadata: dict[str, str] | None) -> None:
    """Whatever the header holds, right or wrong, the faster way tells what the general one does."""
    header = tensors if metadata is None else {"__metadata__": metadata, **tensors}
    assert told(compact(header)) == told_slowly(compact(header)) == told_slowly(json.dumps(header))


@settings(max_examples=500, deadline=None)
@given(
    st.dictionaries(NAMES, ENTRIES, min_size=1, max_size=3),
    st.integers(0, 200),
    st.integers(0, 6),
    st.text('",:{}[]0123 ab\\\x01é', max_size=6) | st.sampled_from([',"a":1', "01", "1.0", "true", "-1"]),
)
def test_damage_is_seen_both_ways(tensors: dict[str, Any], at: int, gone: int, put: str) -> None:
    """A header in which something was changed is read, or refused, alike."""
    text = compact({"__metadata__": {"format": "pt"}, **tensors})
    changed = text[:at] + put + text[at + gone :]
    assert told(changed) == told_slowly(changed)
