"""A folder of torch.distributed.checkpoint with the user's own keys."""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, all_unknown, judge
from ckpt_doctor.readers.survey import Survey

NAME = "dcp"

_PER_RANK = (
    "put it into the state dict under a key of its own for each rank (a key that ranks share is kept of one)"
)

WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "save what get_state_dict(model, optimizer) gives (torch.distributed)",
        StateKind.TORCH_RNG: f"torch.get_rng_state(): {_PER_RANK}",
        StateKind.CUDA_RNG: f"torch.cuda.get_rng_state(): {_PER_RANK}",
        StateKind.NUMPY_RNG: f"numpy.random.get_state(): {_PER_RANK}",
        StateKind.PYTHON_RNG: f"random.getstate(): {_PER_RANK}",
        StateKind.DATALOADER_POSITION: f"StatefulDataLoader.state_dict(): {_PER_RANK}",
    }
)


def claims(bundle: Bundle) -> int:
    """Metadata of DCP, of all ranks or of one, or payload that lacks it."""
    read = any(document.format == "dcp" for document in bundle.documents.values())
    return 5 if read or bundle.lacks_metadata else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; nothing is known where the metadata, which is written last, is missing."""
    if bundle.lacks_metadata:
        return all_unknown("the save was interrupted: .metadata, which is written last, is missing")
    return judge(bundle, found, WORDS)
