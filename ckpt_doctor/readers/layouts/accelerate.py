"""Hugging Face Accelerate: the folder that ``accelerator.save_state`` writes.

Source: ``accelerate/checkpointing.py`` and ``accelerate/utils/constants.py``. The ``step`` in
``random_states_*.pkl`` counts accumulation, not the steps of the run.
"""

from __future__ import annotations

import posixpath
import re

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Find, Survey
from ckpt_doctor.readers.text import clean

NAME = "accelerate"

_RANDOM = r"random_states_\d+\.pkl"
_LOADER = r"dl_state_dict(_\d+)?\.bin"
_AVERAGED = r"[^/]+_ema/.+\.(safetensors|bin)$"
_NUMBERED = r"checkpoint-\d+"
_REGISTER = "accelerator.register_for_checkpointing(obj) for an object with state_dict that holds it"
_STATEFUL = "DataLoaderConfiguration(use_stateful_dataloader=True) with torchdata 0.8 or newer"
_SEEDABLE = "DataLoaderConfiguration(use_seedable_sampler=True)"

WORDS = Words(
    remedies={
        StateKind.STEP: _REGISTER,
        StateKind.EPOCH: _REGISTER,
        StateKind.EMA: _REGISTER,
        StateKind.DATALOADER_POSITION: f"{_STATEFUL}; else accelerator.skip_first_batches(loader, n)",
        StateKind.SAMPLER_EPOCH: f"{_STATEFUL}, or loader.set_epoch(epoch) with the epoch registered",
        StateKind.SAMPLER_RNG: f"{_SEEDABLE}, or {_STATEFUL}",
        StateKind.SCHEDULER: "pass the scheduler to accelerator.prepare()",
        StateKind.OPTIMIZER: "pass the optimizer to accelerator.prepare()",
    },
    never={
        StateKind.STEP: "save_state keeps no step of the run; its own 'step' counts accumulation",
        StateKind.EPOCH: "save_state keeps no epoch",
    },
)
STATEFUL_REMEDIES = {
    StateKind.SAMPLER_EPOCH: "loader.set_epoch(epoch) with the epoch registered",
    StateKind.SAMPLER_RNG: f"{_SEEDABLE}, and loader.set_epoch(epoch) on resume",
}
"""Where the stateful loader is in use already: it counts, but keeps no order of a shuffled dataset."""


def claims(bundle: Bundle) -> int:
    """The generator states that save_state writes for each process."""
    return 20 if any(re.fullmatch(_RANDOM, name) for name in bundle.files) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, less the counter of accumulation.

    Scripts of diffusers keep the step in the name of the folder alone, and averaged weights in a folder
    beside that of the live ones.
    """
    words = WORDS
    if any(re.fullmatch(_LOADER, name) for name in bundle.files):
        words = words._replace(remedies={**words.remedies, **STATEFUL_REMEDIES})
    name = posixpath.basename(bundle.path.replace("\\", "/").rstrip("/"))
    if re.fullmatch(_NUMBERED, name):
        derived = {StateKind.STEP: f"scripts read it from the folder's name, {clean(name)}"}
        words = words._replace(derived=derived)
    judged = judge(bundle, found, words, is_decoy=_is_accumulation)
    averaged = next((name for name in bundle.documents if re.match(_AVERAGED, name)), None)
    if averaged is not None:
        judged[StateKind.EMA] = present(clean(averaged))
    return judged


def _is_accumulation(find: Find) -> bool:
    return find.kind is StateKind.STEP and re.fullmatch(_RANDOM, find.document.name) is not None
