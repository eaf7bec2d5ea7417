"""The training loader gets the arguments that it had in the control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ckpt_doctor.agent import loaders
from ckpt_doctor.facts.treatment import TREATED, NotTested, NotThere, PutBack
from ckpt_doctor.stats.fingerprints import loader_arguments

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

CANNOT = "Batch size, collate function and kind of the loader are the script's own: they stay as they are."
NEEDS = ("torch.utils.data.dataloader", "torchdata.stateful_dataloader.stateful_dataloader")

RESTORED = ("num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "context")
"""In this order: the context of workers can be set once there are some."""
OWNERS = {
    "torch.utils.data.dataloader": "DataLoader",
    "torchdata.stateful_dataloader.stateful_dataloader": "StatefulDataLoader",
}


def plan(finding: Finding, comparison: Comparison) -> PutBack | NotTested:
    """Put back what differs from the control's loader."""
    before, after = (loader_arguments(window.rank) for window in (comparison.before, comparison.after))
    if not before or not after:
        return NotTested("no loader was seen on both sides")
    changed = {name: before.get(name) for name in RESTORED if before.get(name) != after.get(name)}
    if not changed:
        return NotThere(f"none of {', '.join(RESTORED)} differs from the control's loader")
    told = ", ".join(f"{name}={value}" for name, value in changed.items())
    return PutBack(what=told, settings={"loader": loaders.identity(after), "arguments": changed})


def install(recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
    """Set the arguments of the loader before it is iterated for the first time."""
    told = False

    def make(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def begin(loader: Any) -> Any:
            nonlocal told
            if getattr(loader, "_iterator", None) is None and loaders.is_known_by(loader, settings["loader"]):
                _restore(loader, settings["arguments"])
                if not told:
                    told = True
                    recorder.event(TREATED, what=", ".join(settings["arguments"]))
            return original(loader)

        return begin

    recorder.wrap(getattr(module, OWNERS[module.__name__]), "__iter__", make)


def _restore(loader: Any, arguments: Mapping[str, Any]) -> None:
    for name, value in arguments.items():
        if name == "context":
            loader.multiprocessing_context = value
        else:
            # Some must not be assigned to once the loader is made.
            vars(loader)[name] = value
