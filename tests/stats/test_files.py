"""Files that the resumed run made again."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.stats.files import rewritten_files
from tests.builders import control, resumed


def _run(run: RunRecord, read: set[str], written: set[str]) -> RunRecord:
    return replace(run, read_files=frozenset(read), written_files=frozenset(written))


def test_a_cache_that_the_control_found_and_the_resumed_run_makes() -> None:
    """Under the same name, or under a new one that the resumed run reads itself."""
    before = _run(control(), {"/d/raw", "/d/cache"}, {"/out/log"})
    after = _run(resumed(), {"/d/raw", "/d/new"}, {"/d/cache", "/d/new", "/out/other"})
    assert rewritten_files(before, after) == ("/d/cache", "/d/new")


def test_what_the_control_writes_as_well_is_not_made_again() -> None:
    """A file of every run."""
    both = {"/d/vocabulary.json"}
    assert rewritten_files(_run(control(), both, both), _run(resumed(), both, both)) == ()


def test_compiled_code_is_another_matter() -> None:
    """Wherever its folder is."""
    paths = {"/tmp/torchinductor_me/a.py.bin", "/fast/compiled/b"}
    after = resumed(values={"env.TORCHINDUCTOR_CACHE_DIR": "/fast/compiled"})
    assert rewritten_files(control(), _run(after, paths, paths)) == ()
