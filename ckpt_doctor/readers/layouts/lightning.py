"""PyTorch Lightning: a ``.ckpt`` file, or a folder of its sharded strategies.

Source: ``pytorch/trainer/connectors/checkpoint_connector.py`` and ``loops/`` of lightning 1.5 to 2.6. The
``loops`` are there in weights-only files too, and their counters of batches move no loader.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Find, Survey, is_loader

NAME = "lightning"

_VERSION = "pytorch-lightning_version"
_HOOK = "save it in on_save_checkpoint and set it in on_load_checkpoint of the module or of a callback"
_LOADER = "return a torchdata StatefulDataLoader (or LitData StreamingDataLoader) from train_dataloader()"
_SEEDS = "Lightning seeds generators, but saves no state of theirs"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: _HOOK,
        StateKind.CUDA_RNG: _HOOK,
        StateKind.NUMPY_RNG: _HOOK,
        StateKind.PYTHON_RNG: _HOOK,
        StateKind.DATALOADER_POSITION: _LOADER,
        StateKind.SAMPLER_EPOCH: _LOADER,
        StateKind.SAMPLER_RNG: _LOADER,
        StateKind.OPTIMIZER: "ModelCheckpoint(save_weights_only=False)",
        StateKind.SCHEDULER: "ModelCheckpoint(save_weights_only=False)",
        StateKind.SCALER: "ModelCheckpoint(save_weights_only=False)",
        StateKind.EMA: "use the EMAWeightAveraging (or WeightAveraging) callback",
        StateKind.STEP: "let the Trainer save (trainer.save_checkpoint), which keeps epoch and global_step",
        StateKind.EPOCH: "let the Trainer save (trainer.save_checkpoint), which keeps epoch and global_step",
    },
    never={
        StateKind.TORCH_RNG: _SEEDS,
        StateKind.CUDA_RNG: _SEEDS,
        StateKind.NUMPY_RNG: _SEEDS,
        StateKind.PYTHON_RNG: _SEEDS,
        StateKind.COMPILE_CACHE: "Lightning keeps no compile cache",
    },
)


def claims(bundle: Bundle) -> int:
    """The version key that every Trainer writes."""
    for document in bundle.documents.values():
        if isinstance(document.root, dict) and _VERSION in document.root:
            return 30
    return 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found; with weight averaging ``state_dict`` holds the average itself."""
    judged = judge(bundle, found, WORDS, is_decoy=_is_decoy)
    for document in bundle.documents.values():
        if isinstance(document.root, dict) and "current_model_state" in document.root:
            why = "state_dict holds the averaged weights, current_model_state the live ones"
            judged[StateKind.EMA] = present("state_dict", why=why)
    return judged


def _is_decoy(find: Find) -> bool:
    """Counters within loops, callbacks and hyper-parameters are not the Trainer's own."""
    if find.kind in (StateKind.STEP, StateKind.EPOCH):
        return len(find.path) != 1
    return (
        find.kind is StateKind.DATALOADER_POSITION
        and not is_loader(find.node)
        and find.path[:1] == ("loops",)
    )
