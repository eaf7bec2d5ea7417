"""SpeechBrain: a folder ``CKPT+...`` with a file for each recoverable and ``CKPT.yaml``.

Source: ``speechbrain/utils/checkpoints.py``, ``utils/epoch_loop.py``, ``dataio/dataloader.py``. Counter
and loader position are text files that hold a number.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle, Document
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Survey

NAME = "speechbrain"

_ADD = "checkpointer.add_recoverable(name, obj) for an object with save and load hooks"
WORDS = Words(
    remedies={
        StateKind.EPOCH: "add the EpochCounter to the recoverables of the Checkpointer",
        StateKind.DATALOADER_POSITION: "add a SaveableDataLoader to the recoverables",
        StateKind.SCALER: _ADD,
        StateKind.TORCH_RNG: _ADD,
        StateKind.CUDA_RNG: _ADD,
        StateKind.NUMPY_RNG: _ADD,
        StateKind.PYTHON_RNG: _ADD,
    },
    derived={StateKind.SAMPLER_RNG: "ReproducibleRandomSampler makes the order from its seed and the epoch"},
)


def claims(bundle: Bundle) -> int:
    """``CKPT.yaml`` with its mark of the end of an epoch."""
    meta = bundle.documents.get("CKPT.yaml")
    return 20 if meta is not None and isinstance(meta.root, dict) and "end-of-epoch" in meta.root else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the numbers that stand alone in their files."""
    judged = judge(bundle, found, WORDS)
    for name, document in bundle.documents.items():
        if not _is_number(document):
            continue
        if name.startswith("dataloader"):
            judged[StateKind.DATALOADER_POSITION] = present(name)
        elif "counter" in name:
            judged[StateKind.EPOCH] = present(name)
    return judged


def _is_number(document: Document) -> bool:
    return type(document.root) is int
