"""A checkpoint in memory, on which the repairs work: its objects, and what the readers know of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.repair import Change, RepairRequest
from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Document
from ckpt_doctor.readers.inspection import Inspection
from ckpt_doctor.readers.optimizers import Surplus, surplus
from ckpt_doctor.readers.survey import Find
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import Path as KeyPath
from ckpt_doctor.readers.tree import Tensor, show_key
from ckpt_doctor.repairs import safetensors_file, torch_file
from ckpt_doctor.repairs.loaded import Loaded

if TYPE_CHECKING:
    import torch

LOADERS: dict[str, Callable[[Path, str], Loaded]] = {
    "torch_zip": torch_file.load,
    "torch_legacy": torch_file.load,
    "safetensors": safetensors_file.load,
}
"""What loads a file, by its format."""
NOT_WRITTEN = "copies are made of what torch.save or safetensors wrote, not of"
"""What is said of every other format."""


class Draft:
    """The checkpoint that the copy will be. Files are loaded when a repair first asks for them.

    The readers' trees (``Find.node``) are those of the checkpoint as it was; what the repairs change are the
    loaded objects (``at``).
    """

    def __init__(self, inspection: Inspection, request: RepairRequest) -> None:
        self.facts = inspection.facts
        self.request = request
        self._bundle = inspection.bundle
        self._found = inspection.found
        self._loaded: dict[str, Loaded] = {}

    @property
    def saved_bytes(self) -> int:
        """Bytes of storages that are held no longer."""
        return sum(loaded.saved_bytes for loaded in self._loaded.values())

    @property
    def changed(self) -> dict[str, Loaded]:
        """The files that differ by now, by name."""
        return {name: loaded for name, loaded in self._loaded.items() if loaded.is_changed}

    @property
    def documents(self) -> tuple[Document, ...]:
        """All decoded files."""
        return tuple(self._bundle.documents.values())

    @cached_property
    def optimizers(self) -> tuple[OptimizerDraft, ...]:
        """Every state dict of an optimizer."""
        optimizers, models = self.finds(StateKind.OPTIMIZER), self.finds(StateKind.MODEL)
        return tuple(
            OptimizerDraft(self, find, surplus(find, self._found, optimizers, models)) for find in optimizers
        )

    def finds(self, *kinds: StateKind) -> list[Find]:
        """The states of some kinds that are there."""
        return [find for kind in kinds for find in self._found.of(kind) if find.is_there]

    def state_paths(self, document: Document) -> set[KeyPath]:
        """Where the states of a file are, each of which a resume needs as it is."""
        return {find.path for find in self._found.finds if find.document.name == document.name}

    def documents_with(self, wanted: Callable[[Tensor], bool]) -> tuple[Document, ...]:
        """The files that hold a tensor of some kind."""
        names = {document.name for document, _, tensor in self._found.tensors if wanted(tensor)}
        return tuple(document for document in self.documents if document.name in names)

    def is_indexed(self, document: Document) -> bool:
        """Whether another file names the tensors of this one."""
        return any(
            isinstance(other.root, dict) and isinstance(other.root.get("weight_map"), dict)
            for other in self.documents
            if other is not document
        )

    def loaded(self, document: Document) -> Loaded:
        """The objects of a file.

        Raises:
            CheckpointError: They cannot be loaded without running code, or in this format.
        """
        name = document.name
        if name not in self._loaded:
            shown = clean(str(self.path_of(name)), 4096)
            if document.format not in LOADERS:
                raise CheckpointError(f"{shown}: {NOT_WRITTEN} {document.format}")
            self._loaded[name] = LOADERS[document.format](self.path_of(name), shown)
        return self._loaded[name]

    def at(self, find: Find) -> Any:
        """The object that a state is.

        Raises:
            CheckpointError: It cannot be loaded.
        """
        node = self.loaded(find.document).root
        for step in find.path:
            node = _below(node, step)
        return node

    def change(
        self, document: Document, where: str, what: str, *, is_exact: bool = True, payload_bytes: int = 0
    ) -> Change:
        """Note that a file was changed, and how."""
        self.loaded(document).is_changed = True
        return Change(where, what, is_exact, payload_bytes)

    def path_of(self, name: str) -> Path:
        """Where a file of the checkpoint is."""
        return Path(self._bundle.path, name) if self._bundle.is_folder else Path(self._bundle.path)


class OptimizerDraft:
    """The state dict of one optimizer, and what of it is beyond its need."""

    def __init__(self, draft: Draft, find: Find, beyond: Surplus) -> None:
        self.find = find
        self.surplus = beyond
        self._draft = draft

    @property
    def where(self) -> str:
        """File and key path."""
        return self.find.where

    @property
    def loaded(self) -> Loaded:
        """The file that it is in."""
        return self._draft.loaded(self.find.document)

    @property
    def has_ids(self) -> bool:
        """Whether its entries have ids; fastai keeps a list of them."""
        return isinstance(self.held("state"), dict)

    @property
    def entries(self) -> dict[Any, dict[Any, Any]]:
        """State by parameter; the entries are the loaded objects."""
        held = self.held("state")
        each = held.items() if isinstance(held, dict) else enumerate(held or ())
        return {id_: entry for id_, entry in each if isinstance(entry, dict)}

    @property
    def groups(self) -> list[dict[Any, Any]]:
        """The parameter groups, which are the loaded objects."""
        held = self.held("param_groups")
        each = held.values() if isinstance(held, dict) else held or ()
        return [group for group in each if isinstance(group, dict)]

    def pieces(self) -> Iterator[tuple[Any, Any, torch.Tensor]]:
        """Id, name and tensor of all that lies directly in its entries."""
        import torch

        for id_, entry in self.entries.items():
            for name, value in entry.items():
                if isinstance(value, torch.Tensor):
                    yield id_, name, value

    def drop_entries(self, ids: Iterable[Any]) -> None:
        """Forget the state of some parameters."""
        held = self.held("state")
        for id_ in ids:
            held.pop(id_, None)

    def drop_empty_groups(self) -> int:
        """Forget the groups that list nothing; how many those were."""
        held = self.held("param_groups")
        empty = [group for group in self.groups if not group.get("params")]
        if isinstance(held, list):
            held[:] = [group for group in held if not any(group is each for each in empty)]
            return len(empty)
        return 0

    def held(self, key: str) -> Any:
        """What its state dict has under a key; None where it has nothing."""
        node = self._draft.at(self.find)
        return node.get(key) if isinstance(node, dict) else None

    def change(self, what: str, *, is_exact: bool = True) -> Change:
        """Note that it was changed, and how."""
        return self._draft.change(self.find.document, self.where, what, is_exact=is_exact)


def _below(node: Any, step: str | int) -> Any:
    """What a step of a reader's path leads to."""
    if isinstance(node, (list, tuple)) and isinstance(step, int):
        return node[step]
    if isinstance(node, dict):
        if step in node:
            return node[step]
        for key, value in node.items():
            if show_key(key) == step:
                return value
    raise CheckpointError(f"{step} is not where it was seen: the file changes while it is read")
