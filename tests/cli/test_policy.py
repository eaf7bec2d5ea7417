"""A project's policy from pyproject.toml and the options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckpt_doctor.cli.policy import project_policy
from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Severity


def write(folder: Path, table: str) -> Path:
    """A pyproject.toml with a table of ours, and the folder that it lies in."""
    (folder / "pyproject.toml").write_text(f"[project]\nname = 'x'\n\n[tool.ckpt-doctor]\n{table}\n")
    return folder


def test_without_a_table_the_defaults_hold(tmp_path: Path) -> None:
    """A pyproject.toml without our table, or none at all, changes nothing."""
    assert project_policy(tmp_path) == Policy()
    (tmp_path / "pyproject.toml").write_text("this is no TOML, and none of our business")
    assert project_policy(tmp_path) == Policy()


def test_the_table_is_read_from_below(tmp_path: Path) -> None:
    """The nearest table upwards holds, past files that have none."""
    write(
        tmp_path,
        "required = ['sampler_rng']\nignored = ['dat203']\nfail-on = 'warning'\ninconclusive-ok = true",
    )
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert project_policy(inner) == Policy(
        required=frozenset({"sampler_rng"}),
        ignored=frozenset({"DAT203"}),
        fail_on=Severity.WARNING,
        inconclusive_ok=True,
    )


def test_options_win(tmp_path: Path) -> None:
    """Single options replace the table's, lists are joined."""
    write(tmp_path, "required = ['sampler_rng']\nfail-on = 'warning'\ninconclusive-ok = true")
    policy = project_policy(tmp_path, required=["ema"], fail_on=Severity.INFO, inconclusive_ok=False)
    assert policy == Policy(required=frozenset({"sampler_rng", "ema"}), fail_on=Severity.INFO)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("requires = []", "no key 'requires'"),
        ("required = 'model'", "not a list of strings"),
        ("required = ['modle']", "'modle' is no kind of state"),
        ("ignored = ['DAT999']", "'DAT999' is no rule"),
        ("fail-on = 'never'", "fail-on"),
        ("fail-on = ['error']", "fail-on"),
        ("inconclusive-ok = 'yes'", "neither true nor false"),
        ("required = [", "not valid TOML"),
    ],
)
def test_a_wrong_table_is_told(tmp_path: Path, table: str, words: str) -> None:
    """What does not exist or has the wrong type is an error that says so, never ignored."""
    with pytest.raises(UsageError) as caught:
        project_policy(write(tmp_path, table))
    assert words in caught.value.what


def test_without_a_toml_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a Python without TOML a table of ours is not ignored: the error names the package to install."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert project_policy(tmp_path) == Policy()
    with pytest.raises(UsageError) as caught:
        project_policy(write(tmp_path, "required = []"))
    assert caught.value.hint == "pip install tomli"
