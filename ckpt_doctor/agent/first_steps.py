"""Acts on optimizers before they step, numbered as the fingerprint numbers them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

Act = Callable[[int, Any, int], None]
"""Is given an optimizer's number, the optimizer, and how many steps it has taken: 0 before the first."""


def before_steps(module: ModuleType, act: Act, steps: int = 1) -> None:
    """Have ``act`` called before the first steps of every optimizer.

    Args:
        module: ``torch.optim.optimizer``.
        act: What to do.
        steps: Before so many steps of each.
    """
    numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    taken: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
    following = itertools.count()

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if optimizer not in numbers:
            numbers[optimizer] = next(following)
        count = taken.get(optimizer, 0)
        if count < steps:
            taken[optimizer] = count + 1
            act(numbers[optimizer], optimizer, count)

    before._torchdynamo_disable = True  # type: ignore[attr-defined]  # a compiled step calls it as it is
    module.register_optimizer_step_pre_hook(before)
