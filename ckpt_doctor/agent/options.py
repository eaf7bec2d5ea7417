"""What the doctor tells the agent, through the environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple

RECORDING_VARIABLE = "CKPT_DOCTOR_RECORDING"
OPTIONS_VARIABLE = "CKPT_DOCTOR_OPTIONS"


class AgentOptions(NamedTuple):
    """How the agent behaves in one run."""

    recording: str
    """Folder that the agent writes to."""
    watch_files: bool = False
    """Note which files are read and written (an audit hook, which cannot be taken out again)."""
    protect_since: float | None = None
    """Stop before a file last changed before this Unix time is overwritten or deleted."""
    hold_on_save: bool = False
    """Wait at the end of the step in which a checkpoint was saved."""
    hold_at: int | None = None
    """Wait when this many steps have ended."""
    allow_tracing: bool = False
    """Let a stack sampler of the same user attach where the kernel restricts that (Yama)."""
    treatment: dict[str, object] | None = None
    """What to put back in this run: the ``code`` of a treatment, and its ``settings``."""

    def to_environment(self) -> dict[str, str]:
        """The variables that carry these options."""
        return {RECORDING_VARIABLE: self.recording, OPTIONS_VARIABLE: json.dumps(self._asdict())}


def from_environment(environment: Mapping[str, str] = os.environ) -> AgentOptions | None:
    """The options of this process, or None where no recording was asked for."""
    text = environment.get(OPTIONS_VARIABLE)
    return AgentOptions(**json.loads(text)) if text else None
