"""What two commands differ in, beyond what a resume needs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckpt_doctor.stats.arguments import changed_arguments
from tests.builders import control

META = control().meta


def _changes(before: str, after: str, **options: Any) -> dict[str, tuple[object, object]]:
    metas = [replace(META, command=tuple(words.split())) for words in (before, after)]
    metas[1] = replace(metas[1], options=options, checkpoint="c.pt")
    return {c.key: (c.before, c.after) for c in changed_arguments(*metas)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("python train.py --lr 0.1", "python train.py --lr=1e-1 --resume c.pt"),
        ("python train.py --batch_size 8", "python3.11 train.py --batch-size=8.0"),
        ("python train.py --data /a/x.bin", "python train.py --data /b/x.bin"),
        ("torchrun --master-port 1 train.py", "torchrun --master-port 2 train.py"),
        ("python -m pkg.train --seed 1", "python -m pkg.train --seed 2 --init_from=resume"),
        ("python train.py width=8", "python train.py width=8 restore=c.pt"),
    ],
)
def test_the_same_experiment(before: str, after: str) -> None:
    """Spelling, places, seeds and what resumes are no difference."""
    assert _changes(before, after) == {}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ("python train.py", "python finetune.py", {"script": ("train.py", "finetune.py")}),
        ("python train.py --bf16", "python train.py", {"bf16": ("", None)}),
        ("python train.py --depth 2", "python train.py --depth -1", {"depth": ("2", "-1")}),
        ("python train.py model.width=8", "python train.py model.width=16", {"model.width": ("8", "16")}),
        ("python train.py small", "python train.py large", {"argument 1": ("small", "large")}),
        (
            "torchrun --nproc-per-node 2 train.py",
            "torchrun --nproc-per-node 4 train.py",
            {"launcher nproc-per-node": ("2", "4")},
        ),
    ],
)
def test_other_experiments(before: str, after: str, changes: dict[str, Any]) -> None:
    """Options are told by their names, words without one by their place."""
    assert _changes(before, after) == changes


def test_what_a_probe_appended_is_known() -> None:
    """Whatever the names of the options that resume."""
    command = "python train.py --width 8"
    resumed = f"{command} --warm=c.pt --mode 2"
    assert _changes(command, resumed, resume_args="--warm={checkpoint} --mode 2") == {}
    assert _changes(command, resumed) == {"warm": (None, "c.pt"), "mode": (None, "2")}


def test_arguments_that_a_user_gave_for_the_resume_are_meant() -> None:
    """--after-args replaces them on purpose."""
    assert _changes("python train.py --a 1", "python train.py --b 2", after_args="--b 2") == {}
