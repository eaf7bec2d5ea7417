"""verl: ``global_step_N/actor`` with a file for each rank.

Source: ``verl/utils/checkpoint/fsdp_checkpoint_manager.py``. The step stands in the name of the folder.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "verl"

WORDS = Words(
    remedies={
        StateKind.DATALOADER_POSITION: (
            "keep data.pt of the step folder: it is the state of the StatefulDataLoader"
        ),
        StateKind.TORCH_RNG: "'extra' in checkpoint.save_contents",
        StateKind.CUDA_RNG: "'extra' in checkpoint.save_contents",
        StateKind.NUMPY_RNG: "'extra' in checkpoint.save_contents",
        StateKind.PYTHON_RNG: "'extra' in checkpoint.save_contents",
        StateKind.OPTIMIZER: "'optimizer' in checkpoint.save_contents",
    },
    never={
        StateKind.STEP: "the step stands in the name of the folder",
    },
)


def claims(bundle: Bundle) -> int:
    """Its files by world size and rank."""
    return 22 if any("model_world_size_" in name for name in bundle.files) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS)
