"""Leaves histories out that a checkpoint carries along.

What it does
------------
Of long lists of numbers or of records (and of dicts from steps to such) that are called a history, a log,
losses or metrics, the last values are kept and the others left out. The checkpoint that is copied still has
them.

What it leaves alone
--------------------
Every state that a resume needs, whatever it is called. Long lists of other names: they may be an order of
samples, a vocabulary or data. Files that are no torch files, as the Trainer's trainer_state.json.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from ckpt_doctor.facts.repair import Change, Kept
from ckpt_doctor.readers.documents import Document
from ckpt_doctor.readers.tree import Path, show_key, show_path
from ckpt_doctor.repairs.draft import LOADERS, Draft

KEPT_VALUES = 100
"""What a plot or a patience looks back on."""
_LEAST_VALUES = 1000
"""Shorter lists weigh nothing."""
_LEAST_TOLD_BYTES = 1 << 20
_MAX_DEPTH = 6
_NAME = re.compile(
    r"(.*[_.-])?(history|histories|hist|logs?|loss|losses|metrics?|accs?|accuracy|accuracies|curves?|lrs|"
    r"grad_norms|timings|rewards)"
)
"""The last word of a name: what follows it, as in loss_weights, makes it something else."""


def apply(draft: Draft) -> Iterator[Change | Kept]:
    """Repair each file that torch.save wrote."""
    for document in draft.documents:
        if document.format in LOADERS and (document.payload_bytes or 0) >= _LEAST_TOLD_BYTES:
            yield from _shorten(draft, document)
        elif (document.payload_bytes or 0) >= _LEAST_TOLD_BYTES:
            yield Kept(document.show(""), f"it stays: it is {document.format}, not a file of torch.save")


def _shorten(draft: Draft, document: Document) -> Iterator[Change | Kept]:
    for path, node in _long(draft.loaded(document).root, draft.state_paths(document)):
        weight_bytes = len(pickle.dumps(node, protocol=2))
        where = document.show(show_path(path))
        if any(isinstance(step, str) and _NAME.fullmatch(step.lower()) for step in path):
            count = len(node)
            _keep_last(node)
            saved_bytes = weight_bytes - len(pickle.dumps(node, protocol=2))
            what = f"kept the last {KEPT_VALUES} of {count:,} values"
            yield draft.change(document, where, what, payload_bytes=saved_bytes)
        elif weight_bytes >= _LEAST_TOLD_BYTES:
            yield Kept(where, f"its {len(node):,} values stay: by its name it may be more than a history")


def _long(root: Any, states: set[Path]) -> Iterator[tuple[Path, Any]]:
    """Long lists of plain values and long dicts from numbers to such, outside of all states."""
    stack: list[tuple[Path, Any]] = [((), root)]
    while stack:
        path, node = stack.pop()
        if (path and path in states) or len(path) > _MAX_DEPTH:
            continue
        if isinstance(node, dict):
            if len(node) >= _LEAST_VALUES and all(type(key) is int for key in node) and _is_plain(node):
                yield path, node
            else:
                stack.extend(((*path, show_key(key)), value) for key, value in node.items())
        elif type(node) is list:
            if len(node) >= _LEAST_VALUES and _is_plain(node):
                yield path, node
            else:
                stack.extend(((*path, index), value) for index, value in enumerate(node))


def _is_plain(node: Any) -> bool:
    """Whether there is nothing below but numbers and text."""
    stack = [node]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, (list, tuple)):
            stack.extend(each)
        elif not (each is None or isinstance(each, (bool, int, float, str))):
            return False
    return True


def _keep_last(node: Any) -> None:
    if isinstance(node, dict):
        for key in list(islice(node, len(node) - KEPT_VALUES)):
            del node[key]
    else:
        del node[:-KEPT_VALUES]
