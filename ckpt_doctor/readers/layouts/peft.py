"""PEFT: adapter weights. The base model is not in the folder; an optimizer covers the adapter alone.

Source: ``peft/utils/save_and_load.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "peft"

WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: (
            "adapters are for inference: resume from a checkpoint of the trainer that made them"
        ),
    },
)


def claims(bundle: Bundle) -> int:
    """Its configuration of an adapter."""
    return 10 if "adapter_config.json" in bundle.files else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
