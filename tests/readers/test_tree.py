"""Walks over decoded trees."""

from __future__ import annotations

from typing import Any

from ckpt_doctor.readers.tree import Global, Key, Record, Tensor, show_path, tensors_below, walk


def test_parents_come_first_and_in_order() -> None:
    """A walk follows the order of the file."""
    tree = {"a": [1, {"b": 2}], "c": 3}
    assert [show_path(path) for path, _ in walk(tree)] == ["", "a", "a[0]", "a[1]", "a[1].b", "c"]


def test_shared_and_circular_containers_end() -> None:
    """What is shared is entered once, and a circle is no endless walk."""
    inner: list[Any] = [1]
    tree: dict[str, Any] = {"x": inner, "y": inner}
    inner.append(tree)
    assert len(list(walk(tree))) == 5


def test_levels_of_sharing_do_not_multiply() -> None:
    """Forty levels of doubling take forty steps, not 2 to the 40th."""
    tree: list[Any] = []
    for _ in range(40):
        tree = [tree, tree]
    assert len(list(walk(tree))) == 81


def test_depth_is_no_recursion() -> None:
    """A tree deeper than Python's stack is walked up to the limit of depth."""
    tree: list[Any] = []
    for _ in range(100_000):
        tree = [tree]
    assert len(list(walk(tree, max_depth=50))) == 51


def test_attributes_of_records_are_entered() -> None:
    """State of an unknown class is searched for tensors, whatever its form."""
    tensor = Tensor(None, "float32", (2,))
    record = Record(Global("my", "Class"), ())
    record.state = (None, {"inner": [tensor]})
    assert [show_path(path) for path, _ in tensors_below({"object": record})] == ["object.inner[0]"]


def test_keys_of_any_kind_are_shown() -> None:
    """Tuples and objects as keys have a name in the path."""
    tree = {Key(("a", 1)): 1, Key(Record(Global("m", "C"), ())): 2, None: 3}
    assert [show_path(path) for path, _ in walk(tree)][1:] == ["(a, 1)", "<Record>", "None"]
