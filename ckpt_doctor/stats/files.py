"""Files that the resumed run made again."""

from __future__ import annotations

from ckpt_doctor.facts.run import RunRecord

_COMPILED = ("/torchinductor_", "/.triton/", "/__pycache__/", "/.nv/")
"""Folders of compiled code, which CMP302 judges."""
_FOLDERS = ("env.TORCHINDUCTOR_CACHE_DIR", "env.TRITON_CACHE_DIR")


def rewritten_files(before: RunRecord, after: RunRecord) -> tuple[str, ...]:
    """Files that the resumed run wrote and that are there to be read, though the control wrote none of them.

    Such is a cache that the control found filled. What nobody reads is a log, and checkpoints are no
    cache; both are left out, and so is compiled code.
    """
    read = before.read_files | after.read_files
    compiled = tuple(str(path) for run in (before, after) for path in _compile_caches(run))
    again = (after.written_files & read) - before.written_files
    return tuple(sorted(p for p in again if not p.startswith(compiled) and not _is_compiled(p)))


def _is_compiled(path: str) -> bool:
    return any(part in path for part in _COMPILED)


def _compile_caches(run: RunRecord) -> set[object]:
    values = [f.values.get(name) for rank in run.ranks for f in rank.fingerprints for name in _FOLDERS]
    return {value for value in values if value}
