"""Every error that ckpt-doctor shows to a person, as one tree.

::

    CkptDoctorError
    ├── UsageError            the options do not fit together
    ├── InputError            a file or folder that cannot be used
    │   ├── CheckpointError   ... as a checkpoint
    │   └── RecordingError    ... as a recording
    ├── ScriptError           the user's script did not do what the measurement needs
    └── MachineError          this machine does not allow what was asked for

Each message is one line that says what is wrong, where, and what to do about it. None of them
knows about exit codes: the command line maps the whole tree to "could not run".
"""

from __future__ import annotations

from collections.abc import Sequence


class CkptDoctorError(Exception):
    """Base of all errors that are told in one line.

    Args:
        what: What is wrong, and where.
        hint: What to do about it, or None where nothing helps.
        tail: The last lines that the user's script printed, shown below the message.
    """

    def __init__(self, what: str, *, hint: str | None = None, tail: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.tail = tuple(tail)


class UsageError(CkptDoctorError):
    """The options do not fit together."""


class InputError(CkptDoctorError):
    """A file or folder that cannot be used."""


class CheckpointError(InputError):
    """A file or folder that cannot be read as a checkpoint."""


class RecordingError(InputError):
    """A folder that cannot be read as a recording."""


class ScriptError(CkptDoctorError):
    """The user's script did not do what the measurement needs."""


class MachineError(CkptDoctorError):
    """This machine does not allow what was asked for."""
