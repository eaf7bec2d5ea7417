"""FSDP and tensor parallelism through torch.save: sharded values in a file for each rank, or gathered ones.

Sharded files hold DTensor or ShardedTensor, local ones ``_flat_param``; a gathered optimizer knows its
parameters by their names. Folders of torch.distributed.checkpoint are the layout ``dcp``.
Source: ``torch/distributed/fsdp/`` and ``torch/distributed/checkpoint/state_dict.py``.
"""

from __future__ import annotations

from itertools import islice

from ckpt_doctor.facts.states import StateKind
from ckpt_doctor.readers.documents import Bundle
from ckpt_doctor.readers.presence import States, Words, judge
from ckpt_doctor.readers.survey import Survey, is_optimizer
from ckpt_doctor.readers.tree import Node

NAME = "fsdp"

_SHARDED = (
    "torch.distributed._shard.sharded_tensor",
    "torch.distributed.tensor",
    "torch.distributed._tensor",
)
_FEW = 32
"""A flat parameter stands for all of its module: there are few."""
_OWN = "in a file of its own for each rank, or with torch.distributed.checkpoint under one key for each"
_RNG = f"save the generators' states (torch, CUDA, numpy, Python) {_OWN}"
_EPOCH = "save the epoch and call DistributedSampler.set_epoch(epoch) on every rank: it makes the order"
WORDS = Words(
    remedies={
        StateKind.OPTIMIZER: "save what get_state_dict(model, optimizer) gives (torch.distributed)",
        StateKind.SCALER: "save scaler.state_dict() (FSDP1: of the ShardedGradScaler)",
        StateKind.DATALOADER_POSITION: f"save StatefulDataLoader.state_dict() (torchdata) {_OWN}",
        StateKind.SAMPLER_EPOCH: _EPOCH,
        StateKind.SAMPLER_RNG: _EPOCH,
        StateKind.TORCH_RNG: _RNG,
        StateKind.CUDA_RNG: _RNG,
        StateKind.NUMPY_RNG: _RNG,
        StateKind.PYTHON_RNG: _RNG,
    }
)


def claims(bundle: Bundle) -> int:
    """Sharded values, or an optimizer whose groups list names; more telling than nothing at all."""
    for document in bundle.documents.values():
        if any(name.module.startswith(_SHARDED) for name in document.globals) or _by_name(document.root):
            return 4
    return 0


def states(bundle: Bundle, found: Survey) -> States:
    """What the survey found, with remedies for ranks that each have their own."""
    return judge(bundle, found, WORDS)


def _by_name(root: Node) -> bool:
    """Whether the file has an optimizer's state by the names of parameters, or a flat parameter."""
    below = [node for node in root.values() if isinstance(node, dict)] if isinstance(root, dict) else []
    for node in (root, *below):
        if is_optimizer(node) and _lists_names(node["param_groups"]):
            return True
        if isinstance(node, dict) and any("_flat_param" in str(key) for key in islice(node, _FEW)):
            return True
    return False


def _lists_names(groups: Node) -> bool:
    first = groups[0] if isinstance(groups, list) and groups else None
    parameters = first.get("params") if isinstance(first, dict) else None
    return isinstance(parameters, list) and bool(parameters) and isinstance(parameters[0], str)
