"""Storages are cut to what their tensors cover, and nothing else changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.repairs.loaded import Loaded, storage_of, tensors_in
from ckpt_doctor.repairs.storages import cut


def loaded(root: Any) -> Loaded:
    """Objects as if they had been loaded."""
    return Loaded(root, {}, lambda root, places, path: torch.save(root, path))


def held_bytes(root: Any) -> int:
    """Bytes of all storages."""
    return sum({storage_of(t): t.untyped_storage().nbytes() for t in tensors_in(root)}.values())


def test_a_row_of_a_large_buffer() -> None:
    """A row gets a storage of its own size."""
    root = {"row": torch.arange(1000.0).view(100, 10)[7]}
    assert cut(loaded(root)) == 1
    assert root["row"].tolist() == list(range(70, 80))
    assert held_bytes(root) == 40


def test_tied_tensors_stay_tied() -> None:
    """Two keys of one view share a storage before and after."""
    base = torch.zeros(100)
    root = {"a": base[3:5], "b": base[3:5], "c": [(base[50:60],)]}
    assert cut(loaded(root)) == 1
    root["a"].fill_(7)
    assert root["b"].tolist() == [7, 7]
    assert held_bytes(root) == 4 * 12


def test_overlapping_views_go_on_sharing() -> None:
    """A write to one of two views that overlap is seen in the other."""
    base = torch.arange(1000.0)
    root = [base[10:30], base[20:40]]
    assert cut(loaded(root)) == 1
    root[0][15] = -1
    assert root[1][5] == -1
    assert held_bytes(root) == 4 * 30


def test_views_that_touch_stay_in_one_storage() -> None:
    """The pieces of a flat buffer with padding behind them lose the padding alone."""
    flat = torch.arange(40.0)
    root = {"w": flat[:32].view(8, 4), "b": flat[32:36]}
    assert cut(loaded(root)) == 1
    assert storage_of(root["w"]) == storage_of(root["b"])
    assert held_bytes(root) == 4 * 36


def test_a_column_becomes_contiguous() -> None:
    """Of a view with gaps only its own elements are kept."""
    root = {"column": torch.arange(1000.0).view(100, 10)[:, 3], "other": torch.ones(2)}
    assert cut(loaded(root)) == 1
    assert root["column"].tolist() == list(range(3, 1000, 10))
    assert held_bytes(root) == 4 * 102


def test_an_expanded_tensor_is_not_blown_up() -> None:
    """A tensor whose elements are one in memory keeps its stride of zero."""
    root = {"x": torch.zeros(64)[5:6].expand(1000)}
    assert cut(loaded(root)) == 1
    assert root["x"].stride() == (0,)
    assert held_bytes(root) == 4


def test_an_empty_view_drags_nothing() -> None:
    """A tensor without elements needs no storage."""
    root = {"x": torch.zeros(64)[5:5]}
    assert cut(loaded(root)) == 1
    assert held_bytes(root) == 0


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(4, 3, 2, 2).contiguous(memory_format=torch.channels_last),
        torch.arange(12.0).view(3, 4).t(),
        torch.tensor(3.0),
        torch.nn.Parameter(torch.ones(3)),
        torch.eye(3).to_sparse(),
    ],
)
def test_what_needs_its_storage_is_left_alone(tensor: torch.Tensor) -> None:
    """Dense tensors in any order, scalars and tensors of other layouts stay as they are."""
    stride = None if tensor.is_sparse else tensor.stride()
    assert cut(loaded({"x": tensor})) == 0
    assert tensor.is_sparse or tensor.stride() == stride


def test_a_parameter_stays_one() -> None:
    """A parameter keeps its class and asks for gradients as before."""
    parameter = torch.nn.Parameter(torch.arange(100.0)[10:20])
    assert cut(loaded([parameter])) == 1
    assert type(parameter) is torch.nn.Parameter
    assert parameter.requires_grad
    assert parameter.untyped_storage().nbytes() == 40


def test_only_some_storages() -> None:
    """Storages that were not asked for are left alone."""
    root = {"a": torch.zeros(100)[:3], "b": torch.zeros(100)[:3]}
    assert cut(loaded(root), [root["a"]]) == 1
    assert held_bytes(root) == 12 + 400


VIEW = st.tuples(st.integers(0, 40), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=3))


@given(st.lists(VIEW, min_size=1, max_size=5))
def test_whatever_the_views(views: list[tuple[int, list[tuple[int, int]]]]) -> None:
    """No value, shape or dtype changes, no storage grows, and what overlapped still does."""
    base = torch.arange(160)
    root = [
        base.as_strided([size for size, _ in dims], [stride for _, stride in dims], offset)
        for offset, dims in views
    ]
    values = [tensor.clone() for tensor in root]
    before = held_bytes(root)
    cut(loaded(root))
    assert all(map(torch.equal, root, values))
    assert held_bytes(root) <= before
    assert held_bytes(root) <= max(before, 8 * sum(tensor.numel() for tensor in root))


def test_the_file_is_smaller(tmp_path: Path) -> None:
    """What was cut is not written."""
    root = {"row": torch.arange(100_000.0)[:10]}
    torch.save(root, tmp_path / "before.pt")
    cut(loaded(root))
    torch.save(root, tmp_path / "after.pt")
    assert (tmp_path / "before.pt").stat().st_size > 400_000
    assert (tmp_path / "after.pt").stat().st_size < 4_000
