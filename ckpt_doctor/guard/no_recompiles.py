"""Whether torch.compile compiles again what it has compiled."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from ckpt_doctor.guard.failure import Failure, remedied

SHOWN = 3
"""So many different reasons are told."""
_RULE = "CMP301"


class Recompiles:
    """Watches what is compiled again from the moment on that it is made.

    The first compilation of a function is none: warm up before, as far as a function has to be compiled
    for more than one shape. Dynamo remembers its last 64 compilations; more than that are not counted.
    """

    def __init__(self) -> None:
        self._earlier = _compilations()

    def judge(self) -> Failure | None:
        """What was compiled again until now and why, or None.

        Nothing compiled at all, now or earlier in this process, is a failure too: then this watches nothing.
        """
        earlier = set(map(id, self._earlier))
        again = [each for each in _compilations() if id(each) not in earlier and _is_recompile(each)]
        if again:
            return _failure(again)
        if not _anything_is_compiled():
            return Failure(
                "Nothing was compiled, neither here nor earlier in this process, so nothing is guarded.",
                ("  Fix: call what torch.compile() gives; see whether TORCHDYNAMO_DISABLE is set",),
            )
        return None


def _compilations() -> list[Any]:
    """What dynamo tells of each compilation; it may not have been imported yet."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return list(dynamo.get_compilation_metrics()) if dynamo is not None else []


def _is_recompile(compilation: Any) -> bool:
    """Whether the same code has been compiled before; the backward comes along with its forward."""
    if getattr(compilation, "is_forward", None) is False:
        return False
    reason = getattr(compilation, "recompile_reason", None)
    return reason is not None or bool(getattr(compilation, "cache_size", None))


def _anything_is_compiled() -> bool:
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(dynamo.counters["frames"]["ok"])


def _failure(again: list[Any]) -> Failure:
    reasons = Counter((_place(each), _reason(each)) for each in again).most_common()
    more = [f"  and {len(reasons) - SHOWN} more reasons"] if len(reasons) > SHOWN else []
    return Failure(
        f"What was compiled has been compiled again, {_times(len(again))}.",
        (
            *(f"  {place}, {_times(count)}: {reason}" for (place, reason), count in reasons[:SHOWN]),
            *more,
            *remedied(
                "keep what changes from step to step out of what is compiled: numbers as tensors, changing "
                "sizes with torch._dynamo.mark_dynamic, state loaded in place",
                _RULE,
            ),
        ),
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _place(compilation: Any) -> str:
    file = os.path.basename(str(getattr(compilation, "co_filename", None)))
    line = getattr(compilation, "co_firstlineno", None)
    return f"{getattr(compilation, 'co_name', None)} ({file}:{line})"


def _reason(compilation: Any) -> str:
    """The guard that failed; dynamo pads it, and adds a stack in lines below."""
    reason = str(getattr(compilation, "recompile_reason", None) or "dynamo gives no reason")
    return " ".join(reason.partition("\n")[0].split())
