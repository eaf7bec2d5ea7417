"""Weights as Hugging Face libraries publish them: ``config.json`` beside ``model.safetensors`` or shards.

Source: ``transformers/modeling_utils.py`` (``save_pretrained``).
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "hf_weights"

WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "save_pretrained keeps weights only: resume from a checkpoint of the trainer",
    },
)


def claims(bundle: Bundle) -> int:
    """Weights and a configuration, or an index of shards."""
    names = bundle.files.keys()
    if any(name.endswith((".safetensors.index.json", ".bin.index.json")) for name in names):
        return 6
    return 6 if "config.json" in names and names & {"model.safetensors", "pytorch_model.bin"} else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
