"""JSON is decoded value by value, whatever the pieces in which it comes."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.readers import json_text
from ckpt_doctor.readers.json_text import JsonText
from ckpt_doctor.readers.limits import Malformed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    """Bytes in pieces of a size."""
    return (data[at : at + size] for at in range(0, len(data), size))


def whole(text: JsonText) -> dict[str, object]:
    """A trace's members, its events as a list."""
    return {key: list(text.items()) if key == "events" else text.value() for key in text.keys()}  # noqa: SIM118


@given(before=VALUES, events=st.lists(VALUES, max_size=5), after=VALUES, size=st.integers(1, 40))
def test_any_pieces(before: object, events: list[object], after: object, size: int) -> None:
    """Members and elements come out as json.loads has them, wherever the pieces are cut."""
    document = {"a": before, "events": events, "b": after}
    for indent in (None, 2):
        data = json.dumps(document, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")
        expected = json.loads(data.decode("utf-8", "replace"))
        assert whole(JsonText(pieces(data, size))) == expected


@given(events=st.lists(VALUES, min_size=1, max_size=4), at=st.floats(0, 1, exclude_max=True))
def test_cut_anywhere(events: list[object], at: float) -> None:
    """A text that is cut short is refused."""
    data = json.dumps({"events": events, "b": 1}).encode()
    with pytest.raises(Malformed, match="cut short or damaged"):
        whole(JsonText(pieces(data[: int(at * len(data))], 16)))


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b'{"a" 1}',
        b'{"a":}',
        b'{"a":1 "b":2}',
        b"[1]",
        b"{1:2}",
        b'{"events": {}}',
        b'{"a": nope}',
        b"\xff\xfe{",
    ],
)
def test_what_is_no_trace(data: bytes) -> None:
    """What breaks the grammar is refused in one line with the place."""
    with pytest.raises(Malformed, match=r"after [0-9,]+ characters") as refused:
        whole(JsonText(iter([data])))
    assert "\n" not in refused.value.why


def test_a_mark_in_front() -> None:
    """A byte order mark and bytes that are no text are no obstacle."""
    assert whole(JsonText(iter([b'\xef\xbb\xbf {"a": "\xff"}']))) == {"a": "�"}


def test_nested_too_deep() -> None:
    """Brackets without end are refused, and not followed."""
    with pytest.raises(Malformed, match="nested too deep"):
        whole(JsonText(iter([b'{"a": ' + b"[" * 200_000])))


def test_a_value_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than one long value is kept in memory."""
    monkeypatch.setattr(json_text, "MAX_VALUE_CHARACTERS", 1000)
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        yield b'{"a": "'
        while True:
            taken += 1
            yield b"x" * 100

    with pytest.raises(Malformed, match="more than 1,000 characters"):
        whole(JsonText(endless()))
    assert taken < 20


def test_the_window_stays_small() -> None:
    """Of what has been decoded nothing is kept."""
    event = json.dumps({"name": "x" * 100}).encode()
    text = JsonText(iter([b"[" + event] + [b"," + event] * 5000 + [b"]"]))
    longest = 0
    for _ in text.items():
        longest = max(longest, len(text._text))
    assert longest < 10 * len(event)
