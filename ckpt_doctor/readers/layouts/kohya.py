"""kohya sd-scripts: a state folder of Accelerate with ``train_state.json``.

Source: ``train_network.py`` of kohya-ss/sd-scripts.
"""

from __future__ import annotations

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Find, Survey

NAME = "kohya"

WORDS = Words(
    remedies={
        StateKind.DATALOADER_POSITION: "--skip_until_initial_step",
        StateKind.SAMPLER_EPOCH: "--skip_until_initial_step",
        StateKind.SAMPLER_RNG: "--skip_until_initial_step",
        StateKind.EMA: "none is built in",
    },
)


def claims(bundle: Bundle) -> int:
    """Its counters beside the generator states of Accelerate."""
    return 25 if "train_state.json" in bundle.files and "random_states_0.pkl" in bundle.files else 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with the remedies of this framework."""
    return judge(bundle, found, WORDS, is_decoy=_is_decoy)


def _is_decoy(find: Find) -> bool:
    """The counter in the generator states counts accumulation, not the steps of the run."""
    return find.kind is StateKind.STEP and find.document.name.startswith("random_states_")
