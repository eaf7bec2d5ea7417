"""Snapshots of the TorchElastic tutorial and of minGPT-ddp: ``snapshot.pt``.

Source: ``distributed/ddp-tutorial-series`` and ``distributed/minGPT-ddp`` of pytorch/examples.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "elastic_snapshot"

WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "add optimizer.state_dict() to the snapshot: the tutorial leaves it out",
    },
)


def claims(bundle: Bundle) -> int:
    """Their key names."""
    keys = bundle.keys()
    return 15 if {"MODEL_STATE", "EPOCHS_RUN"} <= keys or {"model_state", "finished_epoch"} <= keys else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
