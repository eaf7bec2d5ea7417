"""Files that the resumed run made again."""

from __future__ import annotations

from pathlib import PurePath

from ckpt_doctor.facts.run import RunRecord

_COMPILED = ("/torchinductor_", "/.triton/", "/__pycache__/", "/.nv/")
"""Folders of compiled code, which CMP302 judges."""
_FOLDERS = ("env.TORCHINDUCTOR_CACHE_DIR", "env.TRITON_CACHE_DIR")


def rewritten_files(before: RunRecord, after: RunRecord) -> tuple[str, ...]:
    """Files that the resumed run wrote and read, where the control only read them, or others like them.

    Such is a cache that the control found filled; under a new name it lies beside the old one. What nobody
    reads is a log, and checkpoints are no cache; both are left out, and so is compiled code.
    """
    again = (after.written_files & (before.read_files | after.read_files)) - before.written_files
    found = {_place(path) for path in before.read_files}
    compiled = tuple(str(path) for run in (before, after) for path in _compile_caches(run))
    return tuple(
        sorted(p for p in again if _place(p) in found and not p.startswith(compiled) and not _is_compiled(p))
    )


def _place(path: str) -> tuple[PurePath, str]:
    """The folder of a file, and what its name ends with."""
    return PurePath(path).parent, PurePath(path).suffix


def _is_compiled(path: str) -> bool:
    return any(part in path for part in _COMPILED)


def _compile_caches(run: RunRecord) -> set[object]:
    values = [f.values.get(name) for rank in run.ranks for f in rank.fingerprints for name in _FOLDERS]
    return {value for value in values if value}
