"""The work of operators, from the shapes of their inputs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.readers.shapes import multiply_adds


@pytest.mark.parametrize(
    ("name", "dims", "amount"),
    [
        ("aten::mm", [[2, 3], [3, 5]], 30),
        ("aten::addmm", [[5], [2, 3], [3, 5], [], []], 30),
        ("aten::bmm", [[4, 2, 3], [4, 3, 5]], 120),
        ("aten::baddbmm", [[4, 2, 5], [4, 2, 3], [4, 3, 5]], 120),
        ("aten::convolution", [[2, 3, 8, 8], [4, 3, 3, 3], [4]], 384 * 108),
        ("aten::_scaled_dot_product_flash_attention", [[2, 4, 6, 8], [2, 4, 5, 8]], 2 * 384 * 5),
        ("aten::_scaled_dot_product_attention_math", [[2, 4, 6, 8], [2, 4, 5, 8]], 0),
        ("aten::linear", [[2, 3], [5, 3]], 0),
        ("aten::mm", "nonsense", 0),
        ("aten::mm", [[2, 3]], 0),
        ("aten::mm", [[2, "x"], [3, 5]], 0),
        ("aten::mm", [[2, 3], [10**400]], 0),
    ],
)
def test_multiply_adds(name: str, dims: object, amount: float) -> None:
    """Known operators are counted, others and nonsense are not."""
    assert multiply_adds(name, dims) == amount


@given(st.integers(1, 64), st.integers(1, 64))
def test_twice_the_batch_is_twice_the_work(batch: int, width: int) -> None:
    """Work follows the size of the batch."""
    one = multiply_adds("aten::addmm", [[width], [batch, 16], [16, width]])
    two = multiply_adds("aten::addmm", [[width], [2 * batch, 16], [16, width]])
    assert two == 2 * one > 0
