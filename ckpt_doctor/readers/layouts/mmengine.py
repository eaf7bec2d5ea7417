"""MMEngine (mmdetection, mmsegmentation and others).

Source: ``mmengine/runner/runner.py``, ``runner/loops.py``, ``hooks/ema_hook.py``. With EMAHook the
two copies are swapped: ``state_dict`` holds the averaged weights, ``ema_state_dict`` the live ones.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "mmengine"

_LOOP = (
    "use an epoch-based loop, or a sampler that keeps its own position: iteration-based loops replay "
    "the loader"
)
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "a hook with before_save_checkpoint and after_load_checkpoint that keeps it",
        StateKind.CUDA_RNG: "a hook with before_save_checkpoint and after_load_checkpoint that keeps it",
        StateKind.NUMPY_RNG: "a hook with before_save_checkpoint and after_load_checkpoint that keeps it",
        StateKind.PYTHON_RNG: "a hook with before_save_checkpoint and after_load_checkpoint that keeps it",
        StateKind.DATALOADER_POSITION: _LOOP,
        StateKind.SAMPLER_EPOCH: _LOOP,
        StateKind.SAMPLER_RNG: _LOOP,
        StateKind.OPTIMIZER: "CheckpointHook(save_optimizer=True)",
        StateKind.SCHEDULER: "CheckpointHook(save_param_scheduler=True)",
        StateKind.EMA: "use EMAHook",
        StateKind.SCALER: "use AmpOptimWrapper, which keeps its loss scaler",
    },
    never={
        StateKind.TORCH_RNG: "MMEngine keeps only the seed",
        StateKind.CUDA_RNG: "MMEngine keeps only the seed",
        StateKind.NUMPY_RNG: "MMEngine keeps only the seed",
        StateKind.PYTHON_RNG: "MMEngine keeps only the seed",
        StateKind.DATALOADER_POSITION: (
            "an iteration-based loop draws and drops batches up to the place on resume, an epoch-"
            "based one begins the epoch anew"
        ),
    },
)


def claims(bundle: Bundle) -> int:
    """The runner's own keys."""
    return 20 if {"meta", "state_dict", "message_hub"} <= bundle.keys() else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
