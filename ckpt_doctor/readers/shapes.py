"""How much an operator multiplies, from the shapes of its inputs: the work of a step, up to a factor.

Two runs of one model have the same operators, so the factor does not matter to their ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Dims = Sequence[Sequence[int]]


def multiply_adds(name: str, dims: object) -> float:
    """Multiplications of an operator of this name; 0 where it is of no kind that is known.

    Args:
        name: As ``aten::addmm``.
        dims: The shapes of its inputs.
    """
    count = _COUNTS.get(name)
    if count is None or not isinstance(dims, list):
        return 0.0
    try:
        amount = float(count([dim for dim in dims if isinstance(dim, list) and dim]))
    except (ArithmeticError, IndexError, TypeError, ValueError):
        return 0.0
    return amount if math.isfinite(amount) and amount > 0 else 0.0


def _product(dims: Dims) -> int:
    """Rows of the one but last matrix times all elements of the last one."""
    left, right = dims[0], dims[1]
    return math.prod(left) * right[-1]


def _added_product(dims: Dims) -> int:
    """As ``_product``, behind what the product is added to."""
    return _product(dims[1:]) if len(dims) > 2 else _product(dims)


def _weighted(dims: Dims) -> int:
    """Each element of the input meets each of the weight's, up to a factor."""
    return math.prod(dims[0]) * math.prod(dims[1])


def _attention(dims: Dims) -> int:
    """Queries times keys, and what comes of it times values."""
    return 2 * math.prod(dims[0]) * dims[1][-2]


_COUNTS: dict[str, Callable[[Dims], int]] = {
    "aten::mm": _product,
    "aten::bmm": _product,
    "aten::addmm": _added_product,
    "aten::baddbmm": _added_product,
    "aten::convolution": _weighted,
    "aten::mkldnn_rnn_layer": _weighted,
    "aten::_cudnn_rnn": _weighted,
    "aten::_scaled_dot_product_flash_attention": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_scaled_dot_product_efficient_attention": _attention,
    "aten::_scaled_dot_product_cudnn_attention": _attention,
}
"""Operators that call no other of these. Attention that is made of products counts by its products."""
