"""Whether a run that was to resume has read the checkpoint that it was to resume from."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from ckpt_doctor.errors import ScriptError
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.saved import changed_since, saves


def other_load(after: Arm, before: Arm, checkpoint: Path, since_unix_s: float) -> str | None:
    """What a resumed run has loaded instead of the checkpoint, in words; None where it loaded that.

    Args:
        after: The resumed run.
        before: The fresh run.
        checkpoint: What the fresh run has saved, or what was given.
        since_unix_s: When the probe began: what is older is no save of its own.

    Raises:
        ScriptError: It has loaded neither: then both runs are fresh ones, and nothing can be compared.
    """
    loaded = [path for (path,) in after.lines("r")] + after.loaded_paths()
    if any(is_within(path, checkpoint) for path in loaded):
        return None
    saved = {save.path for save in saves(before.folder.glob("rank*.jsonl"))}
    others = sorted({path for path in loaded if path in saved and changed_since(Path(path), since_unix_s)})
    if others:
        return f"the resumed run loaded {others[0]}, not {checkpoint}"
    raise ScriptError(
        f"the resumed run never read {checkpoint}: it started afresh",
        hint="tell how to resume with --resume-args '... {checkpoint}'; "
        f"the command was: {shlex.join(after.command)}",
        tail=after.tail(),
    )


def is_within(path: str, checkpoint: Path) -> bool:
    """Whether a path is the checkpoint, or a file of it."""
    real, target = os.path.realpath(path), os.path.realpath(checkpoint)
    return real == target or real.startswith(target + os.sep)
