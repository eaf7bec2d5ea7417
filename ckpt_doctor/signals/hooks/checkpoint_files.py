"""Checkpoint saves and loads, through each library's own functions."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from threading import get_ident
from time import perf_counter
from types import ModuleType
from typing import Any

from ckpt_doctor.facts.moments import DATA_WAIT, SAVING
from ckpt_doctor.signals.caller import user_line
from ckpt_doctor.signals.contract import Recorder, Signal

SIGNALS = (
    Signal("save", "event", "work", "a checkpoint save: path, function, seconds, and whether by a thread"),
    Signal("load", "event", "data", "a checkpoint load: path, function, seconds"),
    Signal("saving", "s", "work", "time of the step spent in saving"),
)
NEEDS = (
    "torch.serialization",
    "safetensors.torch",
    "torch.distributed.checkpoint.state_dict_saver",
    "torch.distributed.checkpoint.state_dict_loader",
)

SAVES: dict[str, dict[str, tuple[int, str]]] = {
    "torch.serialization": {"save": (1, "f")},
    "safetensors.torch": {"save_file": (1, "filename")},
    "torch.distributed.checkpoint.state_dict_saver": {
        "save": (-1, "checkpoint_id"),
        "async_save": (-1, "checkpoint_id"),
    },
}
"""Functions that save, by module: position and name of the argument that says where to."""

LOADS: dict[str, dict[str, tuple[int, str]]] = {
    "torch.serialization": {"load": (0, "f")},
    "safetensors.torch": {"load_file": (0, "filename")},
    "torch.distributed.checkpoint.state_dict_loader": {"load": (-1, "checkpoint_id")},
}

PACKAGES = {
    "torch.serialization": ("torch",),
    "safetensors.torch": (),
    "torch.distributed.checkpoint.state_dict_saver": ("torch.distributed.checkpoint",),
    "torch.distributed.checkpoint.state_dict_loader": ("torch.distributed.checkpoint",),
}
"""Packages that hand the same function out under their own name."""

_inside = [False]
"""One library's function may call another's: the outermost call is the save."""
_beside: set[int] = set()
"""Threads of the script that are saving, likewise."""
_written_later: list[Any] = []
"""Futures of saves that go on after their call: what threads save meanwhile is a part of them."""


def install(recorder: Recorder, module: ModuleType) -> None:
    """Wrap the module's saving and loading functions, wherever they are handed out."""
    name = module.__name__
    owners = [module, *(sys.modules[p] for p in PACKAGES[name] if p in sys.modules)]
    for signal, functions in (("save", SAVES.get(name, {})), ("load", LOADS.get(name, {}))):
        for function, place in functions.items():
            wrapped = _wrapper(recorder, signal, f"{name}.{function}", place)
            for owner in owners:
                if hasattr(owner, function):
                    recorder.wrap(owner, function, wrapped)


def _wrapper(
    recorder: Recorder, signal: str, function: str, place: tuple[int, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            path = _path(args, kwargs, place)
            if signal == "save" and path is not None:
                recorder.about_to_write(path)
            if not recorder.in_training_thread():
                call = functools.partial(original, *args, **kwargs)
                if signal == "load" or path is None or _inside[0] or _in_worker():
                    return call()
                return _saved_beside(recorder, function, path, call)
            if _inside[0] or reads_samples(recorder):
                return original(*args, **kwargs)
            _inside[0] = True
            start = perf_counter()
            recorder.push(SAVING)
            try:
                result = original(*args, **kwargs)
                if signal == "save":
                    # Before the call is over: its threads save from now on, if not since before.
                    _note_background(recorder, result)
            finally:
                _inside[0] = False
                recorder.pop()
            duration_s = perf_counter() - start
            recorder.checkpoint_touched(signal, duration_s, path=path, function=function, **user_line())
            return result

        return timed

    return make


def _saved_beside(recorder: Recorder, function: str, path: str, save: Callable[[], Any]) -> Any:
    """Save in a thread of the script: it costs the step nothing, but a run can be resumed from it."""
    thread = get_ident()
    if thread in _beside or not all(written.done() for written in _written_later):
        return save()
    _beside.add(thread)
    step, start = recorder.running_step(), perf_counter()
    try:
        result = save()
    finally:
        _beside.discard(thread)
    duration_s = perf_counter() - start
    recorder.saved_aside(step, duration_s, path=path, function=function, beside=True, **user_line())
    return result


def _note_background(recorder: Recorder, saved: Any) -> None:
    """``async_save`` answers with a future of the write, or with an object that has one for each stage."""
    written = getattr(saved, "upload_completion", saved)
    if hasattr(written, "add_done_callback"):
        _written_later[:] = [*(each for each in _written_later if not each.done()), written]
        recorder.still_writing(written)


def reads_samples(recorder: Recorder) -> bool:
    """Whether a data set is reading: samples may lie in files of the same format as checkpoints."""
    return _in_worker() or recorder.inside(DATA_WAIT)


def _in_worker() -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and data.get_worker_info() is not None


def _path(args: tuple[Any, ...], kwargs: dict[str, Any], place: tuple[int, str]) -> str | None:
    """The absolute path that was saved to or loaded from; None for a buffer."""
    position, name = place
    target = kwargs.get(name)
    if target is None and 0 <= position < len(args):
        target = args[position]
    if target is None:
        writer = kwargs.get("storage_writer") or kwargs.get("storage_reader")
        target = getattr(writer, "path", None)
    if not isinstance(target, (str, os.PathLike)):
        target = getattr(target, "name", None)
    if isinstance(target, (str, os.PathLike)) and target:
        return os.path.abspath(os.fspath(target))
    return None
