"""Places the storages on the CPU.

What it does
------------
Storages that are placed on a CUDA device are placed on the CPU: a load without ``map_location`` then takes
no memory of any device, and ``load_state_dict`` moves each value to its parameter's device.

What it leaves alone
--------------------
Placements on devices of other kinds.
"""

from __future__ import annotations

from collections.abc import Iterator

from ckpt_doctor.facts.repair import Change
from ckpt_doctor.readers.tree import Tensor
from ckpt_doctor.repairs.draft import Draft
from ckpt_doctor.repairs.words import counted

_KIND = "cuda"


def apply(draft: Draft) -> Iterator[Change]:
    """Repair each file."""
    for document in draft.documents_with(_is_on_cuda):
        for place, count in draft.loaded(document).place_all_on_cpu(_KIND).items():
            what = f"placed {counted(count, 'storage')} of {place} on the CPU"
            yield draft.change(document, document.show("storages"), what)


def _is_on_cuda(tensor: Tensor) -> bool:
    return any((storage.device or "").partition(":")[0] == _KIND for storage in tensor.storages())
