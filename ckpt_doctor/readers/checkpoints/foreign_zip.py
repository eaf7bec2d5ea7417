"""Zip archives of PyTorch and others that are no training checkpoints: named for what they are."""

from __future__ import annotations

from ckpt_doctor.readers.checkpoints.torch_zip import top_folder
from ckpt_doctor.readers.documents import Document, Reading
from ckpt_doctor.readers.limits import Unrelated

NAME = "foreign_zip"
ORDER = 70

_OTHER = "inspect reads what torch.save wrote during training"


def claims(reading: Reading) -> bool:
    """Any zip that no other format claimed."""
    return reading.is_zip


def read(reading: Reading) -> Document:
    """Decline it.

    Raises:
        Unrelated: Always, saying what the archive is.
    """
    raise Unrelated(f"it is {_what(reading)}", _OTHER)


def _what(reading: Reading) -> str:
    names = reading.archive
    folder = top_folder(names)
    if f"{folder}/.data/extern_modules" in names or ".data/extern_modules" in names:
        return "a torch.package archive: code and weights, no training state"
    if f"{folder}/archive_format" in names or "serialized_exported_program.json" in names:
        return "a torch.export program (pt2): weights for inference, no training state"
    if "config.json" in names and "model.weights.h5" in names:
        return "a Keras archive"
    if all(name.endswith(".npy") for name in names):
        return "a numpy archive (npz)"
    if "word/document.xml" in names or "META-INF/MANIFEST.MF" in names:
        return "a document or a Java archive"
    return "a zip archive, but none that torch.save writes"
