"""Two paths become two runs of one kind, or the reason why not."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckpt_doctor.errors import InputError, UsageError
from ckpt_doctor.readers import runs, traces
from ckpt_doctor.readers.absences import SIGNALS
from ckpt_doctor.readers.evidence import Hints
from ckpt_doctor.readers.runs import kinds, read_runs
from ckpt_doctor.stats.counters import EVENTS
from tests.structure.source import ROOT

RECORDING = ROOT / "fixtures" / "recordings"
TABLE = "step,step_s\n" + "".join(f"{k},0.5\n" for k in range(10))


def test_kinds_are_well_formed() -> None:
    """Each module of the folder is a kind with a page, a name and a place of its own, and has tests."""
    found = kinds()
    assert len(found) == len(list(pkgutil.iter_modules(traces.__path__)))
    assert len({kind.NAME for kind in found}) == len({kind.ORDER for kind in found}) == len(found)
    for info in pkgutil.iter_modules(traces.__path__):
        assert importlib.import_module(f"{traces.__name__}.{info.name}").__doc__
        assert (ROOT / "tests" / "readers" / "traces" / f"test_{info.name}.py").is_file()


def test_a_module_that_is_no_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A malformed kind fails loudly."""
    (tmp_path / "broken_kind.py").write_text("NAME = 'x'\n")
    monkeypatch.setattr(traces, "__path__", [*traces.__path__, str(tmp_path)])
    kinds.cache_clear()
    try:
        with pytest.raises(ValueError, match="a kind of evidence has ORDER, IN_FOLDERS, claims, read"):
            kinds()
    finally:
        kinds.cache_clear()


def test_what_is_counted_from_events_is_told_to_be_absent() -> None:
    """A signal whose events are counted must not seem to have had none, where nobody could see it."""
    assert set(EVENTS.values()) <= set(SIGNALS)


def test_neither_is_a_run(tmp_path: Path) -> None:
    """Checkpoints, folders without evidence and addresses are left to others."""
    (tmp_path / "a.pt").write_bytes(b"PK\3\4" + b"\0" * 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "config.json").write_text('{"key": 1}')
    for path in ("a.pt", "folder", "config.json"):
        assert read_runs(str(tmp_path / path), str(tmp_path / path)) is None
    assert read_runs("s3://bucket/run", "s3://bucket/run") is None


def test_one_of_them_is_none(tmp_path: Path) -> None:
    """A run and something else cannot be compared, which is told with both paths' kinds."""
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.pt").write_bytes(b"PK\3\4")
    for pair in (("a.csv", "b.pt"), ("b.pt", "a.csv")):
        with pytest.raises(InputError, match=r"a\.csv is a table of steps and the other is none") as refused:
            read_runs(*(str(tmp_path / name) for name in pair))
        assert refused.value.hint == runs.TWO_OF_A_KIND


def test_nothing_is_there(tmp_path: Path) -> None:
    """A path that was mistyped is told as such, on either side."""
    (tmp_path / "a.csv").write_text(TABLE)
    for pair in (("a.csv", "b.csv"), ("b.csv", "a.csv"), ("b.csv", "b.csv")):
        with pytest.raises(InputError, match=r"b\.csv: there is no such file or folder"):
            read_runs(*(str(tmp_path / name) for name in pair))


def test_a_log_that_nobody_explained(tmp_path: Path) -> None:
    """Text that is neither table nor JSON is taken for a log, and the option that reads it is named."""
    (tmp_path / "a.log").write_text("step 1 took \x1b[1m0.5 s\x1b[0m\n")
    with pytest.raises(InputError, match="text that does not say") as refused:
        read_runs(str(tmp_path / "a.log"), str(tmp_path / "a.log"))
    assert "--log-pattern" in str(refused.value.hint)


def test_two_kinds(tmp_path: Path) -> None:
    """Times that were measured in different ways are not set side by side."""
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "a.json").write_text('{"traceEvents": []}')
    with pytest.raises(InputError, match=r"table of steps and .*a\.json a Kineto trace"):
        read_runs(str(tmp_path / "a.csv"), str(tmp_path / "a.json"))


@pytest.mark.parametrize(
    ("hints", "words"),
    [
        (Hints(log_pattern="(?P<step_s>x)"), "--log-pattern is for a log, and this is a Kineto trace"),
        (Hints(columns={"step": "n"}), "--column is for a table of steps"),
    ],
)
def test_hints_for_something_else(tmp_path: Path, hints: Hints, words: str) -> None:
    """A hint that cannot be followed is told, and not passed over."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.json").write_text('{"traceEvents": []}')
    with pytest.raises(UsageError, match=words):
        read_runs(str(tmp_path / "a"), str(tmp_path / "a"), hints)


def test_progress(tmp_path: Path) -> None:
    """Reading tells how far it is."""
    path = tmp_path / "a.csv"
    path.write_text(TABLE * 1)
    told: list[tuple[str, float | None]] = []
    read_runs(str(path), str(path), progress=lambda message, ratio: told.append((message, ratio)))
    assert told[-1] == ("reading a.csv", 1.0)


def test_names_that_would_move_the_cursor(tmp_path: Path) -> None:
    """A path's own characters never reach the terminal as they are."""
    path = tmp_path / "a\x1b[2J.csv"
    path.write_text("step,loss\n1,2\n")
    with pytest.raises(InputError) as refused:
        read_runs(str(path), str(path))
    assert "\x1b" not in refused.value.what


TEXTS = st.lists(
    st.text(max_size=20)
    | st.sampled_from(
        [
            "step,step_s",
            "0,0.5",
            "1,nan",
            '{"step": 1, "time": 2}',
            '{"step_s": 1e308}',
            '"',
            "step 3 0.5 s/it",
        ]
    ),
    max_size=12,
).map("\n".join)


@given(text=TEXTS, pattern=st.sampled_from([None, r"step (?P<step>\d+) (?P<step_s>[\d.]+)", "(?P<time>.*)"]))
def test_any_text(tmp_path_factory: pytest.TempPathFactory, text: str, pattern: str | None) -> None:
    """Whatever a file holds, it is read, left to others, or refused in one line."""
    path = tmp_path_factory.mktemp("text") / "a"
    path.write_text(text, encoding="utf-8", errors="replace")
    try:
        pair = read_runs(str(path), str(path), Hints(log_pattern=pattern))
    except (InputError, UsageError) as error:
        assert "\n" not in error.what  # noqa: PT017 - both outcomes are right
    else:
        for run in pair or ():
            steps = run.ranks[0].steps
            assert len(steps) > 0
            assert all(steps.step_s(i) > 0 for i in range(len(steps)))
