"""What would notice, in the project of a script, that its resume has become worse."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Guards:
    """Files of a project that call ckpt-doctor, or that could; all paths are relative to its root."""

    root: str
    ci_files: tuple[str, ...] = ()
    """Files that a CI system reads its jobs from."""
    callers: tuple[str, ...] = ()
    """Those of them that call ckpt-doctor by themselves."""
    uses: tuple[str, ...] = ()
    """Tests with an assertion of its pytest plugin, and recipes (a Makefile, a script) that call it."""
    runners: tuple[str, ...] = ()
    """CI files that run tests or recipes."""
