"""fairseq: ``checkpoint_last.pt``.

Source: ``fairseq/trainer.py``, ``checkpoint_utils.py``, ``data/iterators.py``. Each step seeds
torch with the seed plus the number of updates, so no generator state is lost.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Survey

NAME = "fairseq"

WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "do not pass --no-save-optimizer-state",
        StateKind.EMA: "--store-ema",
    },
    derived={
        StateKind.TORCH_RNG: "each step seeds torch with the seed plus the number of updates",
        StateKind.CUDA_RNG: "each step seeds torch with the seed plus the number of updates",
    },
)


def claims(bundle: Bundle) -> int:
    """Its history of optimizers."""
    return 20 if {"optimizer_history", "extra_state"} <= bundle.keys() else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the places of fairseq's own."""
    judged = judge(bundle, found, WORDS)
    root = bundle.root if isinstance(bundle.root, dict) else {}
    history, extra = root.get("optimizer_history"), root.get("extra_state")
    last = history[-1] if isinstance(history, list) and history else None
    if isinstance(last, dict):
        if last.get("lr_scheduler_state"):
            judged[StateKind.SCHEDULER] = present("optimizer_history[-1].lr_scheduler_state")
        if "num_updates" in last:
            judged[StateKind.STEP] = present("optimizer_history[-1].num_updates")
    iterator = extra.get("train_iterator") if isinstance(extra, dict) else None
    if isinstance(iterator, dict) and "iterations_in_epoch" in iterator:
        judged[StateKind.DATALOADER_POSITION] = present("extra_state.train_iterator.iterations_in_epoch")
        judged[StateKind.EPOCH] = present("extra_state.train_iterator.epoch")
        judged[StateKind.SAMPLER_EPOCH] = present("extra_state.train_iterator.epoch")
    return judged
