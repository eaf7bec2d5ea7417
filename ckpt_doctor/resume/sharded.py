"""A captured state of several ranks, written and read through torch.distributed.checkpoint (DCP).

Every rank writes the shards of DTensors that it holds; rank 0 writes all else, which is the same on
all ranks, or is about to be: DistributedDataParallel hands out the buffers of rank 0. A leaf of the
tree is a tensor, or a part of it without tensors as a whole: DCP's own way to take a tree apart
would make text of numbers that are keys, and lists of tuples.

Reading needs to know beforehand where each tensor goes. That is taken from the checkpoint's own
metadata, and for tensors that are sharded here from the live parts. So a state can be read by
another number of ranks, and by one process alone.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata
from torch.distributed.checkpoint.planner import ReadItem
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.optim import Optimizer

from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.resume.parts import state_of
from ckpt_doctor.resume.plain import is_sharded

METADATA = ".metadata"
"""The file that DCP writes last; a folder that has it is of this kind."""

Place = tuple[str, ...]
"""Keys that lead to a value."""


def holds_shards(tree: Any) -> bool:
    """Whether a DTensor is a leaf of a tree of dicts."""
    if isinstance(tree, Mapping):
        return any(map(holds_shards, tree.values()))
    return is_sharded(tree)


def write_sharded(captured: dict[str, Any], folder: Path) -> None:
    """Write it; all ranks have to call this at once.

    Raises:
        OSError: The disk of some rank is full, or refuses.
    """
    try:
        with _alone_on_purpose():
            writer = FileSystemWriter(folder, sync_files=True)
            save(captured, storage_writer=writer, planner=_SavePlanner())
    except CheckpointException as error:
        raise OSError(f"{folder} cannot be written: {_first(error)}") from error


def read_sharded(folder: Path, parts: Mapping[Place, Any]) -> dict[str, Any]:
    """Read it; all ranks have to call this at once.

    Values are loaded with ``weights_only=True``; DCP's own metadata is a pickle that torch trusts.

    Args:
        folder: The checkpoint.
        parts: The live parts by their place in the tree: tensors that are sharded in them are read
            in shards.

    Raises:
        CheckpointError: It cannot be read.
    """
    reader = FileSystemReader(folder)
    metadata = reader.read_metadata()
    places = {name: _place_of(name, metadata) for name in metadata.state_dict_metadata}
    shards = dict(_live_shards(parts))
    flat = {
        name: _room(stored, places[name], shards) for name, stored in metadata.state_dict_metadata.items()
    }
    planner = _LoadPlanner(flatten_state_dict=False, flatten_sharded_tensors=False)
    try:
        with _alone_on_purpose():
            load(flat, storage_reader=reader, planner=planner)
    except CheckpointException as error:
        raise CheckpointError(f"{folder} cannot be read: {_first(error)}") from error
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        _put(tree, places[name], value)
    return tree


class _SavePlanner(DefaultSavePlanner):
    """Takes the tree apart in our way; the places are kept in DCP's metadata, where DCP keeps its own."""

    def set_up_planner(
        self, state_dict: dict[str, Any], storage_meta: Any = None, is_coordinator: bool = False
    ) -> None:
        leaves = {p: value for p, value in _leaves(state_dict) if is_coordinator or is_sharded(value)}
        self.mappings = {".".join(place): place for place in leaves}
        self.state_dict = {".".join(place): value for place, value in leaves.items()}
        self.is_coordinator = is_coordinator


class _LoadPlanner(DefaultLoadPlanner):
    """Reads values that are no tensors without running code."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name = read_item.dest_index.fqn
        self.state_dict[name] = torch.load(value, map_location="cpu", weights_only=True)


def _first(error: CheckpointException) -> str:
    """The first failure of any rank, in one line."""
    failure, _ = next(iter(error.failures.values()))
    return str(failure).partition("\n")[0]


@contextmanager
def _alone_on_purpose() -> Iterator[None]:
    """DCP warns a process that is alone; here it may be."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.distributed is (disabled|unavailable)", UserWarning)
        yield


def _leaves(tree: Mapping[Any, Any], place: Place = ()) -> Iterator[tuple[Place, Any]]:
    for key, value in tree.items():
        # Numbers are the keys of an optimizer's entries; restoring it makes numbers of them again.
        is_entries = key == "state" and "param_groups" in tree
        named = isinstance(value, Mapping) and (is_entries or all(isinstance(name, str) for name in value))
        if named and _has_tensors(value):
            yield from _leaves(value, (*place, str(key)))
        else:
            yield (*place, str(key)), value


def _has_tensors(tree: Mapping[Any, Any]) -> bool:
    return any(
        isinstance(value, torch.Tensor) or (isinstance(value, Mapping) and _has_tensors(value))
        for value in tree.values()
    )


def _place_of(name: str, metadata: Metadata) -> Place:
    place = (metadata.planner_data or {}).get(name, (name,))
    return tuple(str(key) for key in place)


def _live_shards(parts: Mapping[Place, Any]) -> Iterator[tuple[Place, torch.Tensor]]:
    """Sharded tensors by place; parameters stand for all that an optimizer keeps of them."""
    for place, part in parts.items():
        if isinstance(part, nn.Module):
            named = ((name, value) for name, value in state_of(part).items())
            yield from (((*place, name), value) for name, value in named if is_sharded(value))
        elif isinstance(part, Optimizer):
            numbered = enumerate(p for group in part.param_groups for p in group["params"])
            yield from (((*place, "state", str(number)), p) for number, p in numbered if is_sharded(p))


def _room(stored: Any, place: Place, shards: Mapping[Place, torch.Tensor]) -> torch.Tensor | None:
    """An empty tensor to read into; None for what is no tensor."""
    if not isinstance(stored, TensorStorageMetadata):
        return None
    dtype = stored.properties.dtype
    like = shards[place] if place in shards else shards.get(place[:-1])
    if like is not None and like.shape == stored.size:
        return torch.empty_like(like.detach(), dtype=dtype)
    return torch.empty(stored.size, dtype=dtype)


def _put(tree: dict[str, Any], place: Place, value: Any) -> None:
    for key in place[:-1]:
        tree = tree.setdefault(key, {})
    tree[place[-1]] = value
