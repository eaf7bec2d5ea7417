"""NVIDIA NeMo 2: ``weights/`` and ``context/``.

Source: ``nemo/lightning/ckpt_utils.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "nemo"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "a callback of your own with state_dict",
        StateKind.CUDA_RNG: "a callback of your own with state_dict",
        StateKind.NUMPY_RNG: "a callback of your own with state_dict",
        StateKind.PYTHON_RNG: "a callback of your own with state_dict",
        StateKind.DATALOADER_POSITION: "consumed_samples of the datamodule",
        StateKind.EMA: "keep the twin file -EMA.ckpt beside the checkpoint",
    },
    never={
        StateKind.TORCH_RNG: "NeMo keeps no generator state",
        StateKind.CUDA_RNG: "NeMo keeps no generator state",
        StateKind.NUMPY_RNG: "NeMo keeps no generator state",
        StateKind.PYTHON_RNG: "NeMo keeps no generator state",
    },
)


def claims(bundle: Bundle) -> int:
    """Its two folders."""
    folders = {name.partition("/")[0] for name in bundle.files}
    return 24 if {"weights", "context"} <= folders else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
