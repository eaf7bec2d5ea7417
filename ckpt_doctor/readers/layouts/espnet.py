"""ESPnet2: ``checkpoint.pth``.

Source: ``espnet2/train/trainer.py``. Generators are seeded from the seed and the epoch at each epoch.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Survey

NAME = "espnet"

WORDS = Words(
    remedies={
        StateKind.DATALOADER_POSITION: (
            "checkpoints are written at the end of an epoch: there is no position to keep"
        ),
    },
    derived={
        StateKind.TORCH_RNG: "ESPnet seeds all generators from seed and epoch at the start of each epoch",
        StateKind.CUDA_RNG: "ESPnet seeds all generators from seed and epoch at the start of each epoch",
        StateKind.NUMPY_RNG: "ESPnet seeds all generators from seed and epoch at the start of each epoch",
        StateKind.PYTHON_RNG: "ESPnet seeds all generators from seed and epoch at the start of each epoch",
        StateKind.SAMPLER_EPOCH: "the order is computed from seed and epoch",
        StateKind.SAMPLER_RNG: "the order is computed from seed and epoch",
    },
)


def claims(bundle: Bundle) -> int:
    """Its reporter beside lists of optimizers."""
    return 18 if {"reporter", "optimizers", "schedulers"} <= bundle.keys() else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; the epoch lies within the reporter."""
    judged = judge(bundle, found, WORDS)
    judged[StateKind.EPOCH] = present("reporter")
    return judged
