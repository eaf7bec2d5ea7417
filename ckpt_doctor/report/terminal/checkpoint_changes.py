"""What changed between two checkpoints, for a person at a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckpt_doctor import units
from ckpt_doctor.report.terminal.screen import Column, Screen

if TYPE_CHECKING:
    from ckpt_doctor.facts.checkpoint_comparison import CheckpointComparison

_MOST_ROWS = 24
"""So many changes of each kind are told; the JSON report has all."""


def write_changes(screen: Screen, comparison: CheckpointComparison) -> None:
    """Write the states, the properties and the sizes that differ."""
    screen.blank()
    screen.line(("What changed inside", "bold"))
    for label, kinds in (("lost:", comparison.lost), ("gained:", comparison.gained)):
        if kinds:
            screen.labelled(label, ", ".join(kind.value for kind in kinds), style="", indent=2)
    changes = [(each.what, each.before or "-", each.after or "-", "") for each in comparison.changes]
    sizes = [
        (
            f"{each.key}: bytes",
            "-" if each.before_bytes is None else units.size(each.before_bytes),
            "-" if each.after_bytes is None else units.size(each.after_bytes),
            f"{each.growth_bytes:+,}",
        )
        for each in comparison.sizes
    ]
    rows = [*changes[:_MOST_ROWS], *sizes[:_MOST_ROWS]]
    if rows:
        columns = [Column("")] + [Column(name, right=True) for name in ("before", "after", "bytes more")]
        screen.table(columns, rows, indent=2)
    left = len(changes) + len(sizes) - len(rows)
    if left:
        screen.line(f"and {left} more changes (--format json lists them)", indent=2)
    if not rows and not comparison.lost and not comparison.gained:
        screen.line("nothing that can be told without the values of the tensors", indent=2)
