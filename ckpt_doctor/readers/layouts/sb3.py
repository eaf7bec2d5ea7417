"""Stable-Baselines3: ``model.zip``. There is no loader; batches come from a rollout or a replay buffer.

Source: ``stable_baselines3/common/base_class.py``, ``common/callbacks.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "sb3"

_BUFFER = (
    "CheckpointCallback(save_replay_buffer=True, save_vecnormalize=True), or model.save_replay_buffer(path)"
)
_NOT = "set the seed anew (model.set_random_seed): the file has no generator state"
WORDS = Words(
    remedies={
        StateKind.DATALOADER_POSITION: _BUFFER,
        StateKind.SAMPLER_EPOCH: _BUFFER,
        StateKind.SAMPLER_RNG: _BUFFER,
        StateKind.TORCH_RNG: _NOT,
        StateKind.CUDA_RNG: _NOT,
        StateKind.NUMPY_RNG: _NOT,
        StateKind.PYTHON_RNG: _NOT,
        StateKind.OPTIMIZER: "model.save(path) without excluding policy.optimizer",
    },
    never={
        StateKind.DATALOADER_POSITION: "the environment and the replay buffer are not in the file",
        StateKind.SAMPLER_EPOCH: "the environment and the replay buffer are not in the file",
        StateKind.SAMPLER_RNG: "the environment and the replay buffer are not in the file",
    },
    derived={
        StateKind.SCHEDULER: "the learning rate is a function of the remaining progress",
        StateKind.EPOCH: "num_timesteps says how far the run is",
    },
)


def claims(bundle: Bundle) -> int:
    """The archive of its own save."""
    return 20 if any(document.format == "sb3_zip" for document in bundle.documents.values()) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
