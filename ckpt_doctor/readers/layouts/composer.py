"""MosaicML Composer: ``ep{E}-ba{B}-rank{R}.pt``.

Source: ``composer/core/state.py``, ``core/time.py``, ``utils/checkpoint.py``.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge, present
from ckpt_doctor.readers.survey import Survey

NAME = "composer"

_STREAM = (
    "MosaicML's StreamingDataset keeps its place; spin_dataloaders=False skips the replay of other loaders"
)
WORDS = Words(
    remedies={
        StateKind.DATALOADER_POSITION: _STREAM,
        StateKind.SAMPLER_EPOCH: _STREAM,
        StateKind.SAMPLER_RNG: _STREAM,
        StateKind.OPTIMIZER: "CheckpointSaver(weights_only=False)",
        StateKind.SCHEDULER: "CheckpointSaver(weights_only=False)",
        StateKind.SCALER: "CheckpointSaver(weights_only=False)",
        StateKind.EMA: "add the EMA algorithm",
    },
    never={
        StateKind.DATALOADER_POSITION: (
            "with an ordinary DataLoader Composer draws and drops batches up to the place on resume"
        ),
    },
)


def claims(bundle: Bundle) -> int:
    """Exactly the keys state and rng."""
    return 20 if bundle.keys() == {"state", "rng"} else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the timestamp that counts everything."""
    judged = judge(bundle, found, WORDS)
    state = bundle.root.get("state") if isinstance(bundle.root, dict) else None
    stamp = state.get("timestamp") if isinstance(state, dict) else None
    if isinstance(stamp, dict):
        judged[StateKind.STEP] = present("state.timestamp")
        judged[StateKind.EPOCH] = present("state.timestamp")
    data = state.get("dataset_state") if isinstance(state, dict) else None
    if isinstance(data, dict) and data.get("train"):
        judged[StateKind.DATALOADER_POSITION] = present("state.dataset_state.train")
    return judged
