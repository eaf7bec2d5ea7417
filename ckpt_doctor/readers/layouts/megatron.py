"""Megatron-LM and Megatron-Core: ``iter_NNNNNNN/``.

Source: ``megatron/training/checkpointing.py``. The sampler starts at ``consumed_train_samples``:
nothing is replayed.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, unknown
from ckpt_doctor.readers.survey import Survey
from ckpt_doctor.readers.tree import Node

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
        StateKind.DATALOADER_POSITION: "the sampler starts at args.consumed_train_samples",
    },
)


def claims(bundle: Bundle) -> int:
    """Its files by rank, or the description of its sharded ones."""
    if any(name.endswith("model_optim_rng.pt") for name in bundle.files):
        return 25
    return 22 if _backend(bundle) is not None else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; arrays in the old format zarr lie in folders of their own."""
    judged = judge(bundle, found, WORDS)
    if _backend(bundle) == "zarr":
        for kind in (StateKind.MODEL, StateKind.OPTIMIZER):
            judged[kind] = unknown("its arrays are in zarr, a format that Megatron itself has given up")
    return judged


def _backend(bundle: Bundle) -> Node:
    """How the tensors are kept; None where ``metadata.json`` does not say."""
    document = bundle.documents.get("metadata.json")
    return document.root.get("sharded_backend") if document and isinstance(document.root, dict) else None
