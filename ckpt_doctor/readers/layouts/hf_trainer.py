"""Hugging Face Trainer: the folder ``checkpoint-N`` (also TRL, axolotl and others that inherit it).

Source: ``transformers/trainer.py`` (``_save_checkpoint``) and ``trainer_callback.py``. The Trainer keeps
no loader state: on resume it derives the position from the step and skips, and the order from the seed.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import PresenceDetail, PresenceStatus, StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Find, Survey
from ckpt_doctor.readers.tree import Node, Record

NAME = "hf_trainer"

_STATE = "trainer_state.json"
_ARGUMENTS = "training_args.bin"
_FULL = "TrainingArguments(save_only_model=False)"
_SKIP = (
    "keep ignore_data_skip=False and a fixed data_seed; for an iterable dataset, which is read and dropped "
    "up to the place, make the dataset itself stateful and restore it in a callback"
)

WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: _FULL,
        StateKind.SCHEDULER: _FULL,
        StateKind.SCALER: _FULL,
        StateKind.TORCH_RNG: _FULL,
        StateKind.CUDA_RNG: _FULL,
        StateKind.NUMPY_RNG: _FULL,
        StateKind.PYTHON_RNG: _FULL,
        StateKind.DATALOADER_POSITION: _SKIP,
        StateKind.SAMPLER_EPOCH: _SKIP,
        StateKind.SAMPLER_RNG: _SKIP,
        StateKind.EMA: "keep the average in a callback that is ExportableState, and save it there",
    },
    derived={
        StateKind.DATALOADER_POSITION: "the Trainer skips batches up to global_step on resume",
        StateKind.SAMPLER_EPOCH: "the Trainer sets the epoch from global_step on resume",
        StateKind.SAMPLER_RNG: "the Trainer makes the order again from seed (or data_seed) and epoch",
    },
)


def claims(bundle: Bundle) -> int:
    """``trainer_state.json``, which the Trainer writes last."""
    return 30 if _STATE in bundle.documents else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; the arguments say whether the position is derived at all."""
    judged = judge(bundle, found, WORDS, is_decoy=_is_setting)
    arguments = judged[StateKind.LOADER_ARGUMENTS]
    if arguments.status is PresenceStatus.PRESENT:
        why = "for the record: the Trainer goes by its own arguments on resume"
        judged[StateKind.LOADER_ARGUMENTS] = arguments._replace(detail=PresenceDetail.ELSEWHERE, why=why)
    if _argument(bundle, "ignore_data_skip") is True:
        position = judged[StateKind.DATALOADER_POSITION]
        why = f"{_ARGUMENTS} says ignore_data_skip=True: the epoch begins anew"
        judged[StateKind.DATALOADER_POSITION] = position._replace(detail=None, why=why)
    return judged


def _is_setting(find: Find) -> bool:
    """Counters and seeds outside of the Trainer's own state are settings."""
    name = find.document.name
    if find.kind in (StateKind.STEP, StateKind.EPOCH):
        return name != _STATE or len(find.path) != 1
    return name in (_ARGUMENTS, _STATE) and find.kind in WORDS.derived


def _argument(bundle: Bundle, name: str) -> Node:
    """One of the training arguments, where their file was decoded."""
    document = bundle.documents.get(_ARGUMENTS)
    if document is None or not isinstance(document.root, Record):
        return None
    return document.root.attributes().get(name)
