"""Files that the resumed run made again."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.stats.files import rewritten_files
from tests.builders import control, resumed


def _run(run: RunRecord, read: set[str], written: set[str]) -> RunRecord:
    return replace(run, read_files=frozenset(read), written_files=frozenset(written))


def test_a_cache_that_the_control_found_and_the_resumed_run_makes() -> None:
    """Under the same name, or under a new one beside the old one that the resumed run reads itself."""
    before = _run(control(), {"/d/raw.bin", "/d/cache.npy"}, {"/out/log"})
    after = _run(resumed(), {"/d/raw.bin", "/d/new.npy"}, {"/d/cache.npy", "/d/new.npy", "/out/other"})
    assert rewritten_files(before, after) == ("/d/cache.npy", "/d/new.npy")


def test_what_the_control_writes_as_well_is_not_made_again() -> None:
    """A file of every run."""
    both = {"/d/vocabulary.json"}
    assert rewritten_files(_run(control(), both, both), _run(resumed(), both, both)) == ()


def test_a_folder_of_its_own_is_no_cache() -> None:
    """What a run puts aside for itself, and what lies beside other kinds of files."""
    own = {"/tmp/of-this-run/a.npy", "/d/state.json"}
    assert rewritten_files(_run(control(), {"/d/raw.bin"}, set()), _run(resumed(), own, own)) == ()


def test_compiled_code_is_another_matter() -> None:
    """Wherever its folder is."""
    paths = {"/tmp/torchinductor_me/a.bin", "/fast/compiled/b"}
    after = resumed(values={"env.TORCHINDUCTOR_CACHE_DIR": "/fast/compiled"})
    assert rewritten_files(_run(control(), paths, set()), _run(after, paths, paths)) == ()
