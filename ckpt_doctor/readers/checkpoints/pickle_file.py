"""An ordinary pickle that holds tensors or arrays: model zoos, replay buffers, hand-written savers."""

from __future__ import annotations

from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Unrelated
from ckpt_doctor.readers.pickles import decode_growing
from ckpt_doctor.readers.streams import decode_nested
from ckpt_doctor.readers.tree import tensors_below

NAME = "pickle"
ORDER = 60


def claims(reading: Reading) -> bool:
    """A pickle of protocol 2 or later; earlier ones have no magic."""
    head = reading.head
    return len(head) > 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def read(reading: Reading) -> Document:
    """Decode it.

    Raises:
        Malformed: It is damaged or exceeds a limit.
        Unrelated: It holds no tensor.
    """
    budget = reading.budget
    decoded = decode_growing(
        reading.source.read,
        0,
        reading.source.size_bytes,
        budget,
        nested=lambda raw: decode_nested(raw, budget, 1),
    )
    if next(tensors_below(decoded.value), None) is None:
        raise Unrelated("it is a pickle without any tensor, not a PyTorch checkpoint")
    return Document(reading.source.name, NAME, decoded.value, decoded.globals)
