"""The sampler is moved on to where the control's is, where the resumed run begins its data too early."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent import loaders
from ckpt_doctor.agent.treatments.dat202_batches_skipped import WITHOUT_INDICES
from ckpt_doctor.facts.treatment import TREATED, UNTREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import loader_arguments
from ckpt_doctor.stats.start_cost import usual_batches

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = (
    "It cannot bring back the order of another epoch or of another seed, or what is read without indices, "
    "and does not use the random numbers that the samples in between would have used."
)
NEEDS = ("torch.utils.data.dataloader",)


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Go on by as many batches as the data are behind the control's."""
    order, arguments = comparison.order, loader_arguments(comparison.after.rank)
    if order.restored:
        return NotThere("the resumed run is fed the data that the control is fed")
    if comparison.ratio.value < comparison.effect_floor_ratio:
        return NotTested(
            "the data are not those of the control, which costs no time here that could come back"
        )
    if order.source != "indices" or arguments.get("sampler") == WITHOUT_INDICES:
        return NotTested("the data are not known by indices, which a sampler could go on by")
    if arguments.get("kind") == "StatefulDataLoader":
        return NotTested("the loader itself keeps the place, out of the sampler's reach")
    if order.offset is None:
        return NotTested("the first data are nowhere in the control's: they come in an order of their own")
    behind = comparison.before.origin - order.offset
    if behind <= 0:
        return NotTested("the data are ahead of the control's, and no sampler goes back")
    batches = round(behind * (usual_batches(comparison.before.rank) or 1.0))
    settings = {"loader": loaders.identity(arguments), "batches": batches}
    return PutBack(what=f"the order of the data, {batches} batches further on", settings=settings)


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Move the first iterator on, if its epoch goes as far as that."""
    batches = settings["batches"]
    is_done = False

    def move_on(iterator: Any) -> None:
        nonlocal is_done
        if is_done:
            return
        is_done = True
        passed = list(itertools.islice(iterator._sampler_iter, batches))
        if len(passed) == batches:
            recorder.event(TREATED, what=f"{batches} batches further on")
        else:
            iterator._sampler_iter = iter(passed)
            recorder.event(
                UNTREATED, why=f"the epoch has {len(passed)} batches, and {batches} were to be passed"
            )

    loaders.before_each_epoch(recorder, module, settings["loader"], move_on)
