"""What dynamo's reasons are understood to say; the texts are those of torch 2.13 and of 2.2."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.recompiles import UNKNOWN, failed_guards
from ckpt_doctor.facts.report import Location
from tests.builders import event

FILE = "/home/user/project/train.py"


@pytest.mark.parametrize(
    ("reason", "text", "value", "advice"),
    [
        ("0/0: self.k == 1      # y = x * self.k", "self.k == 1", "self.k", "tensor"),
        ("0/0: L['self'].k == 1", "self.k == 1", "self.k", "tensor"),
        ("1/3: self.f == -0.5", "self.f == -0.5", "self.f", "tensor"),
        ("0/0: self.name == 'a'   # if self.name", "self.name == 'a'", "self.name", "set it once"),
        ("0/0: self.flag == True (HINT: flag)", "self.flag == True", "self.flag", "set it once"),
        ("0/0: len(self.xs) == 2", "len(self.xs) == 2", "self.xs", "length"),
        ("0/0: self.none is None", "self.none is None", "self.none", "another object"),
        (
            "0/1: ___check_obj_id(self.fn, 13), type=<class 'f'>",
            "___check_obj_id(self.fn, 13)",
            "self.fn",
            "object",
        ),
        (
            "0/0: tensor 'x' size mismatch at index 0. expected 3, actual 5",
            "tensor 'x' size mismatch at index 0. expected 3, actual 5",
            "x",
            "mark_dynamic",
        ),
        (
            "0/0: tensor 'self._modules['l']._parameters['weight']' dtype mismatch. expected Float",
            "tensor 'self.l.weight' dtype mismatch. expected Float",
            "self.l.weight",
            "another dtype",
        ),
        ("0/0: 2 <= x.size()[0]", "2 <= x.size()[0]", "x", "mark_dynamic"),
        ("0/0: GLOBAL_STATE changed: grad_mode ", "GLOBAL_STATE changed: grad_mode", "grad_mode", "alike"),
    ],
)
def test_a_guard_names_its_value(reason: str, text: str, value: str, advice: str) -> None:
    """Of each kind of guard the value is found, as the source names it, with what to do about it."""
    (guard,) = failed_guards([event("compile", 1, 0.2, reason=reason)])
    assert (guard.text, guard.value) == (text, value)
    assert value in guard.remedy
    assert advice in guard.remedy


def test_an_unknown_guard_is_told_as_it_is() -> None:
    """A guard of another kind keeps its text, and the advice is the general one."""
    (guard,) = failed_guards([event("compile", 1, 0.2, reason="0/0: BACKEND_MATCH failure")])
    assert (guard.text, guard.value, guard.remedy) == ("BACKEND_MATCH failure", None, UNKNOWN)


def test_the_comment_beside_a_guard_gives_the_line() -> None:
    """Without a call stack the comment's line counts, where its path is the end of the function's own."""
    reason = "0/0: self.k == 1     # y = x * self.k  # {}:23 in forward"
    fields = {"file": FILE, "line": 20}
    own, other = failed_guards(
        event("compile", 1, 0.2, reason=reason.format(path), **fields)
        for path in ("project/train.py", "torch/nn/modules.py")
    )
    assert own.location == Location(FILE, 23)
    assert other.location == Location(FILE, 20)
