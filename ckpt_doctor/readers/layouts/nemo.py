"""NVIDIA NeMo: checkpoint folders of NeMo 2 (``weights/`` and ``context/``), and ``.nemo`` archives.

An archive is a tar of weights and their configuration, to infer or to fine-tune from; unpacked or not, no
training goes on from it. Source: ``nemo/lightning/ckpt_utils.py`` and
``nemo/core/connectors/save_restore_connector.py``.
"""

from __future__ import annotations

import posixpath

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey

NAME = "nemo"

_CONFIGURATION = "model_config.yaml"
_WEIGHTS = "model_weights"
_CALLBACK = "a callback of your own with state_dict"
_NO_GENERATOR = "NeMo keeps no generator state"
WORDS = Words(
    remedies={
        StateKind.TORCH_RNG: _CALLBACK,
        StateKind.CUDA_RNG: _CALLBACK,
        StateKind.NUMPY_RNG: _CALLBACK,
        StateKind.PYTHON_RNG: _CALLBACK,
        StateKind.DATALOADER_POSITION: "consumed_samples of the datamodule",
        StateKind.EMA: "keep the twin file -EMA.ckpt beside the checkpoint",
    },
    never={
        StateKind.TORCH_RNG: _NO_GENERATOR,
        StateKind.CUDA_RNG: _NO_GENERATOR,
        StateKind.NUMPY_RNG: _NO_GENERATOR,
        StateKind.PYTHON_RNG: _NO_GENERATOR,
    },
)
_OF_TRAINING = tuple(kind for kind in StateKind if kind not in (StateKind.MODEL, StateKind.EMA))
ARCHIVE_WORDS = Words(
    remedies={
        **dict.fromkeys(_OF_TRAINING, "resume from a .ckpt of exp_manager's checkpoints folder"),
        StateKind.EMA: "save the .nemo file from the -EMA.ckpt twin",
    },
    never=dict.fromkeys(_OF_TRAINING, "a .nemo archive holds weights and their configuration"),
)


def claims(bundle: Bundle) -> int:
    """The two folders of NeMo 2, or the configuration and the weights of an archive."""
    folders = {name.partition("/")[0] for name in bundle.files}
    return 24 if {"weights", "context"} <= folders or _is_archive(bundle) else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, ARCHIVE_WORDS if _is_archive(bundle) else WORDS)


def _is_archive(bundle: Bundle) -> bool:
    """Parallel models have their weights in a folder for each rank, or in one of DCP."""
    parts = {part for name in bundle.files for part in posixpath.splitext(name)[0].split("/")}
    return _CONFIGURATION in bundle.files and _WEIGHTS in parts
