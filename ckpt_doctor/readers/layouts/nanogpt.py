"""nanoGPT: ``ckpt.pt``.

Source: ``train.py``. Batches are drawn at random from a memory map: there is no epoch and no loader.
On resume each process seeds 1337 plus its rank again, so a resumed run draws the same batches from the
start.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "nanogpt"

_BATCH = "add torch.get_rng_state() to the checkpoint dict: get_batch draws from torch's global generator"
_DRAWN = "batches are drawn at random from torch's global generator, so torch_rng is what counts"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: (
            "add torch.get_rng_state() to the checkpoint dict and set it after loading: batches "
            "repeat without it"
        ),
        StateKind.CUDA_RNG: "add torch.cuda.get_rng_state_all() to the checkpoint dict",
        StateKind.DATALOADER_POSITION: _BATCH,
        StateKind.SAMPLER_EPOCH: _BATCH,
        StateKind.SAMPLER_RNG: _BATCH,
        StateKind.SCALER: "add scaler.state_dict() to the checkpoint dict",
    },
    derived={
        StateKind.SAMPLER_EPOCH: _DRAWN,
        StateKind.SAMPLER_RNG: _DRAWN,
        StateKind.DATALOADER_POSITION: _DRAWN,
        StateKind.SCHEDULER: "the learning rate is a function of iter_num",
    },
)


def claims(bundle: Bundle) -> int:
    """Its own names of arguments and counter."""
    return 18 if {"model_args", "iter_num", "best_val_loss"} <= bundle.keys() else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
