"""TorchScript (torch.jit.save): a zip like that of torch.save, with code; weights only.

It is read as far as it tells its weights, so that inspect can say what it is good for: no training
goes on from it.
"""

from __future__ import annotations

from ckpt_doctor.readers.checkpoints.torch_zip import top_folder
from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import MAX_PICKLE_BYTES
from ckpt_doctor.readers.pickles import decode
from ckpt_doctor.readers.storages import StorageTable

NAME = "torchscript"
ORDER = 10


def claims(reading: Reading) -> bool:
    """A zip with ``constants.pkl``, which is torch's own test for TorchScript."""
    return reading.is_zip and f"{top_folder(reading.archive)}/constants.pkl" in reading.archive


def read(reading: Reading) -> Document:
    """Decode the module's attributes; its code is left alone.

    Raises:
        Malformed: The archive is damaged or exceeds a limit.
    """
    folder = top_folder(reading.archive)
    raw = reading.archive.read(f"{folder}/data.pkl", MAX_PICKLE_BYTES)
    decoded = decode(raw, reading.budget, persistent=StorageTable().load)
    note = "it is a TorchScript archive: weights and code for inference, no training state"
    return Document(reading.source.name, NAME, decoded.value, decoded.globals, len(raw), notes=(note,))
