"""Reports are read back as they were written, and nothing else is taken for one."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckpt_doctor.errors import InputError
from ckpt_doctor.facts.report import Location
from ckpt_doctor.readers.reports import is_report, read_report
from ckpt_doctor.report.json import render
from ckpt_doctor.report.wording import relative_file
from ckpt_doctor.report.wording.places import source_line
from tests.report.sample import inspect_report, probe_report


def written(folder: Path, document: Any) -> str:
    """A file with a JSON document in it."""
    path = folder / "report.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


@pytest.mark.parametrize("make", [probe_report, inspect_report])
def test_what_was_written_is_read(tmp_path: Path, make: Any) -> None:
    """Verdict, ratio, findings and what could not be judged come back equal, each finding at its line."""
    report = make()
    path = written(tmp_path, render(report))
    assert is_report(path)
    saved = read_report(path)
    assert saved.path == path
    assert saved.verdict == report.verdict
    assert saved.ratio == (report.comparison.ratio if report.comparison else None)
    assert [replace(each, location=None) for each in saved.findings] == [
        replace(each, location=None) for each in report.findings
    ]
    for found, each in zip(saved.findings, report.findings, strict=True):
        line = source_line(each, report)
        assert found.location == (line and Location(relative_file(line.file, report), line.line))
    assert saved.not_evaluated == report.not_evaluated


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "{}", '{"schema_version": 1}', '{"tool": "ckpt-doctor"}', "\x80"]
)
def test_other_files_are_no_reports(tmp_path: Path, text: str) -> None:
    """Files of other kinds, and none at all, are told apart at once."""
    path = written(tmp_path, text)
    assert not is_report(path)
    with pytest.raises(InputError, match="no report"):
        read_report(path)
    assert not is_report(str(tmp_path))
    assert not is_report(str(tmp_path / "missing.json"))


def test_a_version_of_the_future(tmp_path: Path) -> None:
    """A version that is not known here is refused by its number."""
    document = {**json.loads(render(probe_report())), "schema_version": 99}
    with pytest.raises(InputError, match="version 99"):
        read_report(written(tmp_path, document))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_damage_is_one_clear_line(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever key is lost or holds another type, there is no error but ours."""
    document = json.loads(render(probe_report()))
    place = data.draw(st.sampled_from([document, document["verdict"], document["findings"][0]]))
    key = data.draw(st.sampled_from(sorted(place)))
    place[key] = data.draw(st.sampled_from([None, [], {}, "x", 7]))
    path = written(tmp_path_factory.mktemp("damaged"), document)
    with contextlib.suppress(InputError):
        read_report(path)
