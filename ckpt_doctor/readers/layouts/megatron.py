"""Megatron-LM and Megatron-Core: ``iter_NNNNNNN/``.

Source: ``megatron/training/checkpointing.py``. The sampler starts at ``consumed_train_samples``:
nothing is replayed.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "megatron"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "do not pass --no-save-rng",
        StateKind.CUDA_RNG: "do not pass --no-save-rng",
        StateKind.NUMPY_RNG: "do not pass --no-save-rng",
        StateKind.PYTHON_RNG: "do not pass --no-save-rng",
        StateKind.OPTIMIZER: "do not pass --no-save-optim",
        StateKind.DATALOADER_POSITION: (
            "--dataloader-save for external loaders; leave consumed_train_samples alone otherwise"
        ),
    },
    derived={
        StateKind.SAMPLER_EPOCH: "the order is computed from the seed and the consumed samples",
        StateKind.SAMPLER_RNG: "the order is computed from the seed and the consumed samples",
        StateKind.EPOCH: "Megatron counts samples, not epochs",
    },
)


def claims(bundle: Bundle) -> int:
    """Its files by rank, or its common state."""
    if any(name.endswith("model_optim_rng.pt") for name in bundle.files):
        return 25
    return 22 if "common.pt" in bundle.files and "metadata.json" in bundle.files else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
