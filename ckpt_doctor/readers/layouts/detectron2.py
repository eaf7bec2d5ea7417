"""detectron2 and fvcore: ``model_NNNNNNN.pth``.

Source: ``fvcore/common/checkpoint.py``, ``detectron2/engine/train_loop.py``. The sampler is
infinite and begins anew from its seed.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "detectron2"

WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: "a hook with state_dict and load_state_dict that keeps it",
        StateKind.CUDA_RNG: "a hook with state_dict and load_state_dict that keeps it",
        StateKind.NUMPY_RNG: "a hook with state_dict and load_state_dict that keeps it",
        StateKind.PYTHON_RNG: "a hook with state_dict and load_state_dict that keeps it",
        StateKind.SAMPLER_EPOCH: "none is built in: the infinite sampler begins anew from its seed",
        StateKind.SAMPLER_RNG: "none is built in: the infinite sampler begins anew from its seed",
        StateKind.DATALOADER_POSITION: "none is built in: the infinite sampler begins anew from its seed",
        StateKind.OPTIMIZER: (
            "pass it to the Checkpointer: DetectionCheckpointer(model, dir, optimizer=..., scheduler=...)"
        ),
        StateKind.SCHEDULER: (
            "pass it to the Checkpointer: DetectionCheckpointer(model, dir, optimizer=..., scheduler=...)"
        ),
    },
)


def claims(bundle: Bundle) -> int:
    """A model beside the iteration, or a trainer with its hooks."""
    keys = bundle.keys()
    if "model" not in keys or "iteration" not in keys:
        return 0
    return 15 if "trainer" in keys or keys <= {"model", "iteration", "optimizer", "scheduler"} else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
