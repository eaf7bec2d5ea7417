"""The stacks of both runs for https://www.speedscope.app, each as one mean step.

Format: https://www.speedscope.app/file-format-schema.json (sampled profiles). Both runs were sampled for
different lengths of time; here each profile is as long as its run's mean step, so that the widths of a
frame before and after can be set side by side. The left-heavy view is the one to look at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ckpt_doctor import __version__
from ckpt_doctor.facts.run import SourceLine
from ckpt_doctor.report.wording.json_values import cleaned

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Window
    from ckpt_doctor.facts.report import Report

SUFFIXES = (".speedscope.json", ".speedscope")

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

Json = dict[str, Any]


def render(report: Report) -> str:
    """The stacks as a speedscope document; without profiles where none were sampled."""
    comparison = report.comparison
    windows = {"before": comparison.before, "after": comparison.after} if comparison is not None else {}
    frames: dict[SourceLine, int] = {}
    profiles = [profile for arm, window in windows.items() if (profile := _profile(arm, window, frames))]
    document = {
        "$schema": _SCHEMA,
        "exporter": f"ckpt-doctor {__version__}",
        "name": f"ckpt-doctor {report.command}" + ("" if profiles else ": no stacks were sampled"),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": f.function, "file": f.file, "line": f.line} for f in frames]},
        "profiles": profiles,
    }
    return json.dumps(cleaned(document), allow_nan=False) + "\n"


def _profile(arm: str, window: Window, frames: dict[SourceLine, int]) -> Json | None:
    sampled = next((each for each in window.run.stacks if each.rank == window.rank.rank), None)
    if sampled is None or sampled.sampled_s <= 0:
        return None
    stacks: Mapping[tuple[SourceLine, ...], float] = sampled.stacks
    if not stacks:
        stacks = {(line,): seconds for line, seconds in sampled.lines.items()}
    ordered = sorted(stacks.items(), key=lambda item: [(f.file, f.line, f.function) for f in item[0]])
    weights = [seconds / sampled.sampled_s * window.step_s for _, seconds in ordered]
    return {
        "type": "sampled",
        "name": f"{arm}: one step of rank {window.rank.rank}",
        "unit": "seconds",
        "startValue": 0,
        "endValue": sum(weights),
        "samples": [[frames.setdefault(frame, len(frames)) for frame in stack] for stack, _ in ordered],
        "weights": weights,
    }
