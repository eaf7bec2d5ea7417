"""The user's own line is told apart from Python's and libraries'."""

from __future__ import annotations

import sysconfig

import pytest

from ckpt_doctor.signals.caller import is_library, user_line


@pytest.mark.parametrize(
    ("file", "library"),
    [
        (f"{sysconfig.get_path('stdlib')}/threading.py", True),
        (f"{sysconfig.get_path('purelib')}/torch/nn/modules/module.py", True),
        ("/elsewhere/lib/python3.12/site-packages/lightning/trainer.py", True),
        ("<string>", True),
        ("<frozen runpy>", True),
        ("/home/u/train.py", False),
        ("train.py", False),
    ],
)
def test_is_library(file: str, library: bool) -> None:
    """Python's files, installed packages and code without a file are not the user's."""
    assert is_library(file) is library


def test_user_line() -> None:
    """The innermost frame of the user's counts, through libraries' frames; our own are left out."""
    namespace: dict[str, object] = {"ask": user_line, "__name__": "__main__"}
    exec(compile("def inner():\n    return library(ask)\n", "/home/u/train.py", "exec"), namespace)
    library: dict[str, object] = {}
    code = compile("def call(f):\n    return f()\n", "/x/site-packages/torch/x.py", "exec")
    exec(code, library)
    namespace["library"] = library["call"]
    assert namespace["inner"]() == {"file": "/home/u/train.py", "line": 2}  # type: ignore[operator]
    ours: dict[str, object] = {"ask": user_line, "__name__": "ckpt_doctor.signals.hooks.x"}
    exec(compile("def hook():\n    return ask()\n", "/src/ckpt_doctor/signals/hooks/x.py", "exec"), ours)
    assert ours["hook"]()["file"] == __file__  # type: ignore[operator]
