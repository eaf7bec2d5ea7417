"""A decoded file, what a format's reader gets to decode it, and all decoded files of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ckpt_doctor.readers.limits import Budget
from ckpt_doctor.readers.sources import HEAD_BYTES, Source
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import Global, Node
from ckpt_doctor.readers.zips import MAGIC, Archive

if TYPE_CHECKING:
    from ckpt_doctor.readers.tars import Tar

PAYLOAD_SUFFIX = ".distcp"
"""Files of torch.distributed.checkpoint that only their ``.metadata`` can explain."""
SIDE_FORMATS = ("json", "text")
"""What lies beside checkpoint files and is none by itself."""


class Document(NamedTuple):
    """One decoded file."""

    name: str
    """Name of the file within the checkpoint; empty where the checkpoint is this file."""
    format: str
    root: Node
    globals: tuple[Global, ...] = ()
    """Every name that its pickles refer to."""
    payload_bytes: int | None = None
    """Bytes that are not tensors."""
    metadata: Mapping[str, str] = MappingProxyType({})
    """Text beside the tensors, as a safetensors header has."""
    notes: tuple[str, ...] = ()
    """What is wrong or was left out, one sentence each."""
    missing_parts: tuple[str, ...] = ()
    """What it refers to and what is not there or cut short, one sentence each."""
    payload_files: frozenset[str] = frozenset()
    """Files of the folder that hold this document's tensors, and are no checkpoints of their own."""

    def show(self, text: str) -> str:
        """A text about this file, with the file's name before it where there is more than one."""
        if not self.name:
            return text
        return f"{clean(self.name)}: {text}" if text else clean(self.name)


class Reading:
    """A file that is about to be recognised and decoded.

    Args:
        source: Its bytes.
        budget: What may be spent on it.
        sibling: Opens another file of the same folder; None where it is not there or lies outside of it.
        called: The file's own name, for formats that have no other mark.
    """

    def __init__(
        self,
        source: Source,
        budget: Budget,
        sibling: Callable[[str], Source | None] = lambda name: None,
        called: str = "",
    ) -> None:
        self.source = source
        self.budget = budget
        self.sibling = sibling
        self.called = called

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file."""
        return self.source.read(0, HEAD_BYTES)

    @property
    def is_zip(self) -> bool:
        """Whether the file begins like a zip archive."""
        return self.head.startswith(MAGIC)

    @cached_property
    def archive(self) -> Archive:
        """The file as a zip archive.

        Raises:
            Malformed: It is damaged.
        """
        return Archive(self.source, self.budget)

    @property
    def is_tar(self) -> bool:
        """Whether the file begins like a tar archive."""
        return self.head[257:262] == b"ustar"

    @cached_property
    def tar(self) -> Tar:
        """The file as a tar archive.

        Raises:
            Malformed: It is damaged.
        """
        from ckpt_doctor.readers.tars import Tar

        return Tar(self.source, self.budget)


class Bundle(NamedTuple):
    """A checkpoint: one decoded file, or a folder with several."""

    path: str
    is_folder: bool
    documents: Mapping[str, Document]
    """Decoded files by name."""
    files: Mapping[str, int]
    """Size of every file of the folder by name, also of those that were not decoded."""
    damaged: Mapping[str, str] = MappingProxyType({})
    """Why a file of the folder could not be decoded, by name."""

    @property
    def only(self) -> Document | None:
        """The checkpoint file where there is just one, whether it or its folder was named."""
        files = [each for each in self.documents.values() if each.format not in SIDE_FORMATS]
        return files[0] if len(files) == 1 else None

    @property
    def root(self) -> Node:
        """The decoded tree of the only checkpoint file; None where there are several."""
        return None if self.only is None else self.only.root

    def keys(self) -> Set[Node]:
        """Top-level keys of the only checkpoint file."""
        root = self.root
        return root.keys() if isinstance(root, dict) else frozenset()

    @property
    def lacks_metadata(self) -> bool:
        """Whether files of torch.distributed.checkpoint lie here without what explains them."""
        has_payload = any(name.endswith(PAYLOAD_SUFFIX) for name in self.files)
        return has_payload and not any(name.endswith(".metadata") for name in self.files)
