"""Whether a guard in CI is seen."""

from __future__ import annotations

import pytest

from ckpt_doctor.checks.checklist.item7_guard_in_ci import judge
from ckpt_doctor.facts.checklist import ItemStatus
from ckpt_doctor.facts.guards import Guards
from tests.builders import control, make_case, make_checklist_case, resumed

CI, TEST = ("ci.yml",), ("tests/test_resume.py",)


@pytest.mark.parametrize(
    ("guards", "status", "words"),
    [
        (None, ItemStatus.NOT_EVALUATED, "not known"),
        (Guards(root="/"), ItemStatus.NOT_EVALUATED, "no CI file"),
        (Guards(root="/", uses=TEST), ItemStatus.NOT_EVALUATED, "tests/test_resume.py"),
        (Guards(root="/", ci_files=CI), ItemStatus.FAILED, "in ci.yml"),
        (Guards(root="/", ci_files=(*CI, "b.yml"), runners=CI), ItemStatus.FAILED, "in ci.yml and 1 more"),
        (Guards(root="/", ci_files=CI, uses=TEST), ItemStatus.NOT_EVALUATED, "no CI file is seen to run it"),
        (Guards(root="/", ci_files=CI, uses=TEST, runners=CI), ItemStatus.CHECKED, "by ci.yml"),
        (Guards(root="/", ci_files=CI, callers=CI), ItemStatus.CHECKED, "ci.yml calls ckpt-doctor"),
    ],
)
def test_what_the_project_s_files_say(guards: Guards | None, status: ItemStatus, words: str) -> None:
    """A call in CI, or a test that CI runs, is a guard; where no CI is seen nothing is claimed."""
    outcome = judge(make_checklist_case(make_case(control(), resumed()), guards=guards))
    assert outcome.status is status
    assert words in outcome.sentence
