"""Cuts storages to the tensors that lie in them.

What it does
------------
A storage that is larger than what its tensors cover is replaced by storages of just that size, in every file
of the checkpoint. Tensors that share memory go on sharing it. Values, shapes and dtypes stay; a view with
gaps, as a column of a matrix, becomes contiguous.

What it leaves alone
--------------------
Storages of sparse, quantised and nested tensors, and of subclasses.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpt_doctor.facts.repair import Change
from ckpt_doctor.readers.tree import Tensor
from ckpt_doctor.repairs.draft import Draft
from ckpt_doctor.repairs.storages import cut
from ckpt_doctor.repairs.words import counted


def apply(draft: Draft) -> Iterator[Change]:
    """Repair each file that drags storages along."""
    for document in draft.documents_with(_drags):
        storages = cut(draft.loaded(document))
        if storages:
            where = document.show("storages")
            what = f"cut {counted(storages, 'storage')} to what their tensors need"
            yield draft.change(document, where, what)


def _drags(tensor: Tensor) -> bool:
    return sum(storage.size_bytes for storage in tensor.storages()) > tensor.size_bytes
