"""A checkpoint of no known framework: names and shapes are all that is known."""

from __future__ import annotations

from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, judge
from ckpt_doctor.readers.survey import Survey

NAME = "generic"


def claims(bundle: Bundle) -> int:
    """Everything, where nothing else does."""
    return 1


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with remedies for a loop that calls torch.save itself."""
    return judge(bundle, found)
