"""LitGPT: ``step-NNNNNNNN/lit_model.pth``.

Source: ``litgpt/pretrain.py``. The learning rate is a function of the iteration.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "litgpt"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "put it into the state dict of fabric.save",
        StateKind.CUDA_RNG: "put it into the state dict of fabric.save",
        StateKind.NUMPY_RNG: "put it into the state dict of fabric.save",
        StateKind.PYTHON_RNG: "put it into the state dict of fabric.save",
        StateKind.DATALOADER_POSITION: (
            "a loader with state_dict (LitData StreamingDataLoader) in the state dict of fabric.save"
        ),
    },
    derived={
        StateKind.SCHEDULER: "the learning rate is a function of iter_num",
    },
)


def claims(bundle: Bundle) -> int:
    """Its file of weights beside the configuration."""
    return 20 if "lit_model.pth" in bundle.files and "model_config.yaml" in bundle.files else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
