"""DeepSpeed: a tag folder with ``mp_rank_XX_model_states.pt`` and ``*_optim_states.pt``; ZeRO stages 0 to 3.

Source: ``deepspeed/runtime/engine.py`` and ``runtime/zero/``. Under ZeRO the key ``optimizer`` of
the model states is null: the state lies in the files of the ranks. A static loss scaler of bf16 runs is no
gradient scaler.
"""

from __future__ import annotations

import re

from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Find, Survey
from ckpt_doctor.readers.text import clean

NAME = "deepspeed"

_OWN = "client_state of engine.save_checkpoint (dp rank 0 writes it: use a file of your own for each rank)"
_LOADER = (
    "save StatefulDataLoader.state_dict() of each rank in a file of its own beside the tag folder "
    "(client_state reaches one file only); the curriculum data_sampler of DeepSpeed is kept by itself"
)
_STATES = r"_(model|optim)_states\.pt$|(^|/)zero/.+/fp32\.pt$"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: _OWN,
        StateKind.CUDA_RNG: _OWN,
        StateKind.NUMPY_RNG: _OWN,
        StateKind.PYTHON_RNG: _OWN,
        StateKind.DATALOADER_POSITION: _LOADER,
        StateKind.SAMPLER_EPOCH: _OWN,
        StateKind.SAMPLER_RNG: _OWN,
        StateKind.EPOCH: "client_state={'epoch': epoch} of engine.save_checkpoint",
        StateKind.SCHEDULER: "pass the scheduler to deepspeed.initialize(lr_scheduler=...)",
        StateKind.EMA: _OWN,
    },
    never={
        StateKind.TORCH_RNG: "engine.save_checkpoint keeps no generator state",
        StateKind.CUDA_RNG: "engine.save_checkpoint keeps no generator state",
        StateKind.NUMPY_RNG: "engine.save_checkpoint keeps no generator state",
        StateKind.PYTHON_RNG: "engine.save_checkpoint keeps no generator state",
        StateKind.DATALOADER_POSITION: "only DeepSpeed's curriculum sampler keeps a position",
    },
)


def claims(bundle: Bundle) -> int:
    """Its files of model or optimizer states."""
    return 25 if any(re.search(_STATES, name) for name in bundle.files) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    judged = judge(bundle, found, WORDS, is_decoy=_is_decoy)
    for kind, slot in ((StateKind.MODEL, "fp32"), (StateKind.OPTIMIZER, "exp_avg")):
        name = next((name for name in bundle.files if re.search(rf"(^|/)zero/.+/{slot}\.pt$", name)), None)
        if name is not None and judged[kind].status is not PresenceStatus.PRESENT:
            judged[kind] = present(clean(name), why="one folder for each parameter (universal checkpoint)")
    return judged


def _is_decoy(find: Find) -> bool:
    """Settings in ``ds_config`` are no state, and a loss scaler that stands still is no gradient scaler."""
    return "ds_config" in find.path or (find.kind is StateKind.SCALER and not isinstance(find.node, dict))
