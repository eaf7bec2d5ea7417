"""What a checkpoint holds, known without executing it and without reading its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ckpt_doctor.facts.states import Presence, StateKind


class TensorEntry(NamedTuple):
    """One tensor of a checkpoint: its place and layout, never its values.

    A tuple, which is made in a quarter of the time: there can be a hundred thousand of them.
    """

    key: str
    """Key path as shown to people, as ``optimizer.state[0].exp_avg``."""
    dtype: str
    """Name without prefix, as ``float32``."""
    shape: tuple[int, ...]
    device: str | None
    """Device at the save, as ``cpu`` or ``cuda:0``; None where the format does not record it."""
    storage: str
    """Name of the storage: tensors with the same name share bytes."""
    storage_bytes: int
    """Size of the whole storage in bytes, which can be far more than the tensor needs."""
    tensor_bytes: int
    """Bytes that the elements of this tensor take."""


class ParamGroupFacts(NamedTuple):
    """One entry of an optimizer's ``param_groups``."""

    parameters: int
    """How many parameters the group lists."""
    options: Mapping[str, object]
    """Scalar options as saved (lr, betas, fused, foreach, amsgrad, ...)."""


class OptimizerFacts(NamedTuple):
    """What the optimizer state weighs against what such an optimizer needs."""

    where: str
    """Key path of the optimizer's state dict."""
    algorithm: str | None
    """Name such as ``Adam/AdamW``, recognised by state keys; None where unknown."""
    groups: tuple[ParamGroupFacts, ...]
    entries: int
    """Parameters that have state."""
    state_bytes: int
    """Bytes of the distinct storages that the state holds."""
    expected_bytes: int | None
    """Bytes that this algorithm needs for these parameters; None where it cannot be known."""
    dtypes: Mapping[str, int]
    """Bytes by dtype."""
    devices: Mapping[str, int]
    """Bytes by device."""
    parameter_dtypes: tuple[str, ...] = ()
    """Dtypes of the parameters that the state belongs to, where they could be matched."""
    step_devices: tuple[str, ...] = ()
    """Devices of the zero-dimensional ``step`` tensors."""
    orphans: tuple[str, ...] = ()
    """Ids with state that no group lists, or whose parameter is nowhere in the checkpoint."""
    duplicates: tuple[str, ...] = ()
    """Ids that the groups list more than once."""
    extra_keys: tuple[str, ...] = ()
    """State keys that this algorithm does not use."""
    notes: tuple[str, ...] = ()
    """How the accounting was done where it had to assume something."""
    surplus_bytes: Mapping[str, int] = MappingProxyType({})
    """Bytes beyond the need by cause: ``wide`` dtypes, ``views`` of larger storages, ``dead`` state of
    options that are off, ``unknown`` names, ``duplicates``, ``orphans``."""

    @property
    def bloat_ratio(self) -> float | None:
        """State bytes over the bytes needed; None where the need is unknown or zero."""
        if not self.expected_bytes:
            return None
        return self.state_bytes / self.expected_bytes


@dataclass(frozen=True)
class CheckpointFacts:
    """All that is known of one checkpoint."""

    path: str
    format: str
    """Container: ``torch_zip``, ``torch_legacy``, ``safetensors``, ``dcp``, ..."""
    layout: str
    """Framework whose keys and files these are, or ``generic``."""
    size_bytes: int
    read_bytes: int
    """Bytes that were read to find all this out."""
    states: Mapping[StateKind, Presence]
    tensors: tuple[TensorEntry, ...] = ()
    optimizers: tuple[OptimizerFacts, ...] = ()
    executable_globals: tuple[str, ...] = ()
    """Globals of the pickle that would run code on an unguarded load."""
    model_prefixes: tuple[str, ...] = ()
    """Wrapper prefixes of the model's keys, as ``module.`` or ``_orig_mod.``."""
    compiled: bool | None = None
    """Whether the model was compiled when it was saved; None where the file does not say."""
    payload_bytes: int | None = None
    """Bytes that are not tensors."""
    notes: tuple[str, ...] = ()
    """What could not be read or had to be assumed."""
    progress: Mapping[str, int] = field(default_factory=dict)
    """Counters read from the file: ``step``, ``epoch``, ``position``."""
    missing_parts: tuple[str, ...] = ()
    """Files, shards and storages that the checkpoint refers to and that are not there or cut short."""
