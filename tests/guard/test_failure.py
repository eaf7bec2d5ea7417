"""What a person reads when an assertion fails."""

from __future__ import annotations

from ckpt_doctor.errors import ScriptError
from ckpt_doctor.guard.failure import Failure, could_not_judge, remedied


def test_text_from_outside_is_harmless() -> None:
    """Names and values from the user's files are lines of text, whatever is in them."""
    failure = Failure("a\x1b[2Jb", ("c\nd", *remedied("save it", "STA101")))
    assert str(failure) == "a\\x1b[2Jb\nc d\n  Fix: save it\n  More: ckpt-doctor explain STA101"


def test_an_assertion_that_could_not_be_judged() -> None:
    """It says so in its first line, then what the script said last, then what to do."""
    error = ScriptError("train.py ended with 7", hint="look at it", tail=("no data", "no rows"))
    assert str(could_not_judge(error)).splitlines() == [
        "ckpt-doctor cannot judge this: train.py ended with 7",
        "  | no data",
        "  | no rows",
        "  look at it",
    ]
