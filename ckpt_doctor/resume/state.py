"""Everything that a run may have to get back, as one typed list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.resume.parts import HasState, check_part

PARTS = "parts"
"""Key of the user's own parts."""


@dataclass(eq=False)
class ResumableState:
    """What a run is made of. A part that it does not have stays None.

    Raises:
        UsageError: A part has no state that could be taken.
    """

    model: nn.Module | None = None
    """Also compiled, or in DistributedDataParallel (no trace of both is kept), or sharded by fully_shard."""
    optimizer: torch.optim.Optimizer | None = None
    """Restored by the rules of ``ckpt_doctor/resume/optimizer.py``."""
    scheduler: HasState | None = None
    scaler: HasState | None = None
    """The gradient scaler."""
    ema: HasState | None = None
    """Averaged weights, as ``torch.optim.swa_utils.AveragedModel``."""
    loader: Any = None
    """The training set's DataLoader, over a sampler of ``ckpt_doctor.resume``; or a StatefulDataLoader."""
    parts: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else has ``state_dict`` and ``load_state_dict``, by a name of your own: a second model or
    optimizer, metrics; also a ``torch.Generator`` or a ``numpy.random.Generator``."""
    step: int = 0
    """Optimizer steps done. The training loop counts."""
    epoch: int = 0
    """The epoch that is under way, from 0; ``ResumeManager.batches`` counts."""
    rng: bool = True
    """Keep the global generators of torch (CPU and CUDA), numpy and Python, of each rank."""
    flags: bool = True
    """Keep backend flags, precision and the number of threads (``ckpt_doctor/resume/flags.py``)."""
    compile_cache: bool = False
    """Keep what torch.compile made. It is code that a resume runs: only for checkpoints that you trust."""

    def __post_init__(self) -> None:
        for place, part in self.objects():
            check_part(".".join(place), part)

    def objects(self) -> Iterator[tuple[tuple[str, ...], Any]]:
        """The parts that have a state of their own, with their keys, in the order to restore them in.

        A scheduler comes before the optimizer: making one has changed the learning rate that the
        optimizer is about to get back.
        """
        for kind, part in (
            (StateKind.MODEL, self.model),
            (StateKind.EMA, self.ema),
            (StateKind.SCHEDULER, self.scheduler),
            (StateKind.OPTIMIZER, self.optimizer),
            (StateKind.SCALER, self.scaler),
        ):
            if part is not None:
                yield (kind.value,), part
        for name, part in self.parts.items():
            yield (PARTS, name), part
