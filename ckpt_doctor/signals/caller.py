"""Finds the user's own line that led to a hook."""

from __future__ import annotations

import sys
import sysconfig

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_OWN = __name__.rpartition(".")[0].rpartition(".")[0]


def is_library(file: str) -> bool:
    """Whether a source file belongs to Python, an installed package, or nothing on disk."""
    return file.startswith(_LIBRARIES) or file.startswith("<") or "site-packages" in file


def user_line() -> dict[str, object]:
    """``file`` and ``line`` of the innermost frame of the user's, or nothing where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if not is_library(frame.f_code.co_filename) and not frame.f_globals.get("__name__", "").startswith(
            _OWN
        ):
            return {"file": frame.f_code.co_filename, "line": frame.f_lineno}
        frame = frame.f_back  # type: ignore[assignment]
    return {}
