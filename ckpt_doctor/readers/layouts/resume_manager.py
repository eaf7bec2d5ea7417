"""ckpt-doctor's own ``ResumeManager``: ``step-N/`` with ``state.pt``, or a DCP folder of several ranks.

Source: ``ckpt_doctor/resume/captured.py``. What its optimizer carries is no sign of what a resume
does: the live optimizer's flags win.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Survey
from ckpt_doctor.readers.tree import Node, Tensor

NAME = "resume_manager"

_MARK = "resume_manager"
_FILES = ("state.pt", ".metadata", "")
_RNG = "ResumableState(rng=True), which is the default"
_LOADER = "ResumableState(loader=...) with a sampler of ckpt_doctor.resume"
WORDS = Words(
    remedies={
        StateKind.MODEL: "ResumableState(model=...)",
        StateKind.OPTIMIZER: "ResumableState(optimizer=...)",
        StateKind.SCHEDULER: "ResumableState(scheduler=...)",
        StateKind.SCALER: "ResumableState(scaler=...)",
        StateKind.EMA: "ResumableState(ema=...)",
        StateKind.SAMPLER_EPOCH: _LOADER,
        StateKind.SAMPLER_RNG: _LOADER,
        StateKind.DATALOADER_POSITION: _LOADER,
        StateKind.TORCH_RNG: _RNG,
        StateKind.CUDA_RNG: _RNG,
        StateKind.NUMPY_RNG: f"{_RNG}, in a process that uses numpy",
        StateKind.PYTHON_RNG: _RNG,
        StateKind.COMPILE_CACHE: "ResumableState(compile_cache=True)",
    },
    never={
        StateKind.LOADER_ARGUMENTS: "ResumeManager leaves the loader's arguments to the script",
    },
)


def claims(bundle: Bundle) -> int:
    """Its mark at the top of the one file that holds the state."""
    return 25 if any(_MARK in root for root in _roots(bundle)) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, and the compile cache, whose bytes are kept as a tensor."""
    judged = judge(bundle, found, WORDS)
    for root in _roots(bundle):
        cache = root.get(StateKind.COMPILE_CACHE.value)
        if isinstance(cache, dict) and isinstance(cache.get("artifacts"), Tensor):
            judged[StateKind.COMPILE_CACHE] = present(f"{StateKind.COMPILE_CACHE.value}.artifacts")
    return judged


def _roots(bundle: Bundle) -> list[dict[Node, Node]]:
    documents = (bundle.documents.get(name) for name in _FILES)
    return [document.root for document in documents if document and isinstance(document.root, dict)]
