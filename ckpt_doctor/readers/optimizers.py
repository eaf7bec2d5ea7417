"""Weighs the state of an optimizer against what such an optimizer needs for these parameters.

Expected bytes = sum over entries of (elements of the parameter x item size) for each name of state
that has the parameter's shape, plus what scalars and factors take. The item size is that of the
parameter; 32 bits are granted to parameters of 16 bits, since several optimizers keep them so.
State bytes are those of the distinct storages, so that a view of a large buffer weighs all of it.
What is beyond the need is told apart by its cause (``Surplus``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from ckpt_doctor.facts.checkpoint import OptimizerFacts, ParamGroupFacts
from ckpt_doctor.readers.algorithms import Algorithm, recognise
from ckpt_doctor.readers.limits import Budget
from ckpt_doctor.readers.survey import Find, Survey
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import ITEM_BITS, Node, Tensor, show_key, tensors_below

Shape = tuple[int, ...]

_MAX_OPTIONS = 64
_MAX_NAMED = 20
_WRAPPERS = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
_NARROWER = {"float64": ("float32", 32), "complex128": ("complex64", 64)}
"""The dtype that does where no more than so many bits of an element are needed."""
_NEEDED = "needed"
_CAUSES = (_NEEDED, "unknown", "dead", "duplicates", "orphans")
"""Why a storage is there; where several causes share one, the first of them counts."""


class Parameters:
    """The model's tensors, to which the entries of the optimizer are matched."""

    def __init__(self) -> None:
        self.by_name: dict[str, Tensor] = {}
        self.count: Counter[Shape] = Counter()
        """How many tensors there are of each shape."""
        self.widest: dict[Shape, str] = {}
        """The widest dtype among the tensors of each shape."""
        self.shapes: set[Shape] = set()
        """Shapes of all tensors of the checkpoint that belong to no optimizer."""

    def widest_trained(self) -> str | None:
        """The widest dtype that can be trained among all tensors: counts of batches are int64."""
        trained = (dtype for dtype in self.widest.values() if "float" in dtype or "complex" in dtype)
        return max(trained, key=_bits, default=None)


def parameters_of(models: list[Find]) -> Parameters:
    """The tensors of all models of a checkpoint."""
    found = Parameters()
    for model in models:
        for path, tensor in tensors_below(model.node):
            name = strip_wrappers(".".join(str(step) for step in path))
            found.by_name.setdefault(name, tensor)
            found.count[tensor.shape] += 1
            widest = found.widest.setdefault(tensor.shape, tensor.dtype)
            if _bits(tensor.dtype) > _bits(widest):
                found.widest[tensor.shape] = tensor.dtype
    return found


def strip_wrappers(name: str) -> str:
    """A parameter's name without the parts that wrappers of the model put in."""
    if "mod" in name:
        for wrapper in _WRAPPERS:
            name = name.replace(wrapper, "")
    return name


class Surplus(NamedTuple):
    """What of an optimizer's state is beyond its need, by the ids and names of its state dict."""

    unlisted: tuple[Node, ...]
    """Ids with state that no group lists."""
    strangers: tuple[Node, ...]
    """Ids whose parameter is nowhere in the file."""
    repeated: tuple[Node, ...]
    """Ids that the groups list more than once."""
    twins: tuple[Node, ...]
    """Ids beyond the number of the model's parameters of their shape."""
    dead: tuple[str, ...]
    """Names of state that belongs to an option that is off."""
    unknown: tuple[str, ...]
    """Names of state that this algorithm does not use."""
    wide: Mapping[tuple[Node, str], str]
    """The dtype that does, by id and name."""


def account(optimizer: Find, parameters: Parameters) -> OptimizerFacts:
    """The facts of one optimizer; figures stay None where its state is of unknown make."""
    return _Account(optimizer, parameters).facts()


def surplus(optimizer: Find, found: Survey, optimizers: list[Find], models: list[Find]) -> Surplus:
    """What of one optimizer's state is beyond its need."""
    return _Account(optimizer, _parameters(found, optimizers, models)).surplus()


def account_all(
    found: Survey, optimizers: list[Find], models: list[Find], budget: Budget
) -> tuple[OptimizerFacts, ...]:
    """The facts of each optimizer of a checkpoint.

    Raises:
        Malformed: The time is used up.
    """
    if not optimizers:
        return ()
    parameters = _parameters(found, optimizers, models)
    facts = []
    for optimizer in optimizers:
        budget.check_time()
        facts.append(account(optimizer, parameters))
    return tuple(facts)


def _parameters(found: Survey, optimizers: list[Find], models: list[Find]) -> Parameters:
    """The tensors of all models, with the shapes of all that belongs to no optimizer."""
    parameters = parameters_of(models)
    own = {id(tensor) for optimizer in optimizers for _, tensor in tensors_below(optimizer.node)}
    parameters.shapes = {tensor.shape for _, _, tensor in found.tensors if id(tensor) not in own}
    return parameters


class _Account:
    def __init__(self, optimizer: Find, parameters: Parameters) -> None:
        self.where = optimizer.where
        self.node = optimizer.node if isinstance(optimizer.node, dict) else {}
        self.parameters = parameters
        self.notes: list[str] = []
        self.groups = [group for group in _listed(self.node.get("param_groups")) if isinstance(group, dict)]
        self.entries = _entries(self.node)
        self.names = self._names_by_id()
        self.duplicates = self._duplicates()
        self.tensors = [tensor for _, tensor in tensors_below(self.node.get("state", self.node))]
        self.algorithm = self._algorithm()
        full = self.algorithm.full if self.algorithm is not None else None
        self.shapes = {id_: self._shape(id_, entry, full) for id_, entry in self.entries.items()}
        listed = {str(id_) for group in self.groups for id_ in _ids(group)}
        self.unlisted = [id_ for id_ in self.entries if listed and str(show_key(id_)) not in listed]
        self.twins = self._twins()
        orphans = set(self.unlisted)
        self.strangers = [id_ for id_ in self._strangers() if id_ not in orphans]
        self.unwanted = {
            **dict.fromkeys(self.twins, "duplicates"),
            **dict.fromkeys([*self.unlisted, *self.strangers], "orphans"),
        }

    def facts(self) -> OptimizerFacts:
        expected, extra = self._expected()
        storages = {s.key: s for tensor in self.tensors for s in tensor.storages()}
        state_bytes = sum(storage.size_bytes for storage in storages.values())
        for ids, why in (
            (self.twins, "are more than the model has parameters of their shape"),
            (self.strangers, "are of a shape that no other tensor of the file has"),
        ):
            if ids:
                self.notes.append(f"{len(ids)} entries {why}")
        return OptimizerFacts(
            where=self.where,
            algorithm=self.algorithm.name if self.algorithm else None,
            groups=tuple(_group_facts(group) for group in self.groups),
            entries=len(self.entries),
            state_bytes=state_bytes,
            expected_bytes=expected,
            dtypes=_sum_by((t.dtype, t.size_bytes) for t in self.tensors),
            devices=_sum_by((s.device, s.size_bytes) for s in storages.values() if s.device is not None),
            parameter_dtypes=tuple(sorted(self._matched_dtypes())),
            step_devices=self._step_devices(),
            orphans=_shown([*self.unlisted, *self.strangers]),
            duplicates=_shown([*self.duplicates, *self.twins]),
            extra_keys=tuple(sorted(clean(name, 80) for name in extra))[:_MAX_NAMED],
            notes=tuple(self.notes),
            surplus_bytes=self._surplus_bytes(expected) if state_bytes != expected else {},
        )

    def surplus(self) -> Surplus:
        names = {name for entry in self.entries.values() for name in entry if isinstance(name, str)}
        known = self.algorithm.names if self.algorithm is not None else names
        return Surplus(
            unlisted=tuple(self.unlisted),
            strangers=tuple(self.strangers),
            repeated=tuple(self.duplicates),
            twins=tuple(self.twins),
            dead=tuple(sorted(name for name in names if self._is_dead(name))),
            unknown=tuple(sorted(names - known)),
            wide=self._wide(),
        )

    def _names_by_id(self) -> dict[Node, str]:
        """Names of the parameters by id, where the groups or the ids themselves give them."""
        names: dict[Node, str] = {}
        for group in self.groups:
            for id_, name in zip(_ids(group), _listed(group.get("param_names")), strict=False):
                if isinstance(name, str):
                    names[id_] = strip_wrappers(name)
        for id_ in self.entries:
            if isinstance(id_, str):
                names.setdefault(id_, strip_wrappers(id_))
        return names

    def _duplicates(self) -> list[Node]:
        count = Counter(id_ for group in self.groups for id_ in _ids(group))
        return [id_ for id_, times in count.items() if times > 1]

    def _algorithm(self) -> Algorithm | None:
        names = {name for entry in self.entries.values() for name in entry if isinstance(name, str)}
        options = {key for group in self.groups for key in group if isinstance(key, str)}
        return recognise(names, options)

    def _shape(self, id_: Node, entry: dict[Node, Node], full: Collection[Node] | None) -> Shape | None:
        """The parameter's shape: the named one's, else that of its widest state.

        ``full`` are the names of state that has the parameter's shape; None takes any.
        """
        named = self.parameters.by_name.get(self.names[id_]) if id_ in self.names else None
        if named is not None:
            return named.shape
        widest: Shape | None = None
        for name, value in entry.items():
            if isinstance(value, Tensor) and value.shape and (full is None or name in full):
                shape = value.shape
                if widest is None or (shape != widest and _numel(shape) > _numel(widest)):
                    widest = shape
        return widest

    def _twins(self) -> list[Node]:
        """Entries beyond the number of the model's parameters of their shape.

        They are named only where the state matches the model's shapes throughout; an optimizer over
        shards or over other modules is none of this rule's business.
        """
        left = self.parameters.count.copy()
        orphans = set(self.unlisted)
        shapes = {i: shape for i, shape in self.shapes.items() if shape is not None and i not in orphans}
        if not left or any(shape not in left for shape in shapes.values()):
            return []
        twins = []
        for id_, shape in shapes.items():
            left[shape] -= 1
            if left[shape] < 0:
                twins.append(id_)
        return twins

    def _strangers(self) -> list[Node]:
        """Entries whose parameter is nowhere in the file: no other tensor has their shape.

        They are named only where most entries do match, so that shards and flat partitions are left
        alone.
        """
        known = {id_: shape for id_, shape in self.shapes.items() if shape is not None}
        strangers = [id_ for id_, shape in known.items() if shape not in self.parameters.shapes]
        return strangers if self.parameters.count and 2 * len(strangers) < len(known) else []

    def _parameter_dtype(self, id_: Node, shape: Shape | None) -> str | None:
        named = self.parameters.by_name.get(self.names.get(id_, ""))
        if named is not None:
            return named.dtype
        # Factors do not tell their parameter's shape: they may be as wide as any parameter of the model.
        return self.parameters.widest_trained() if shape is None else self.parameters.widest.get(shape)

    def _matched_dtypes(self) -> set[str]:
        found = {self._parameter_dtype(id_, shape) for id_, shape in self.shapes.items()}
        return {dtype for dtype in found if dtype is not None}

    def _step_devices(self) -> tuple[str, ...]:
        devices = set()
        for entry in self.entries.values():
            step = entry.get("step")
            if isinstance(step, Tensor) and step.storage is not None and step.storage.device is not None:
                devices.add(step.storage.device)
        return tuple(sorted(devices))

    def _expected(self) -> tuple[int | None, set[str]]:
        """Bytes that the algorithm needs for the entries that belong here, and the names it does not know."""
        algorithm = self.algorithm
        if algorithm is None:
            if self.entries:
                self.notes.append("its state is of no optimizer that is known here")
            return None, set()
        extra: set[str] = set()
        counted: set[str] = set()
        total = 0
        for id_, entry in self.entries.items():
            shape = self.shapes[id_]
            dtype = self._parameter_dtype(id_, shape)
            for name, value in entry.items():
                if not isinstance(name, str) or name not in algorithm.names:
                    extra.add(str(show_key(name)))
                elif id_ not in self.unwanted and not self._is_dead(name):
                    total += self._needed_by(value, name in algorithm.full, shape, dtype, counted)
        if not self.parameters.count:
            self.notes.append("no model beside it: parameter sizes are taken from the state itself")
        return total, extra

    def _needed_by(
        self, value: Node, is_full: bool, shape: Shape | None, dtype: str | None, counted: set[str]
    ) -> int:
        """Bytes that one piece of state should take; code books that entries share are counted once."""
        if isinstance(value, Tensor) and is_full:
            return _needed(value, is_full, shape, dtype)
        total = 0
        for _, tensor in tensors_below(value):
            keys = {storage.key for storage in tensor.storages()}
            if is_full or not keys <= counted:
                total += _needed(tensor, is_full, shape, dtype)
            counted |= keys
        return total

    def _surplus_bytes(self, expected: int | None) -> Mapping[str, int]:
        """Bytes beyond the need by cause; a storage that something needed shares is no surplus."""
        sizes: dict[str, int] = {}
        causes: dict[str, str] = {}
        held_bytes = 0
        for id_, entry in self.entries.items():
            for name, value in entry.items():
                cause = self._cause(id_, name)
                for _, tensor in tensors_below(value):
                    held_bytes += tensor.size_bytes if cause == _NEEDED else 0
                    for storage in tensor.storages():
                        sizes[storage.key] = storage.size_bytes
                        causes[storage.key] = min(cause, causes.get(storage.key, cause), key=_CAUSES.index)
        total = _sum_by((causes[key], size) for key, size in sizes.items())
        found = {cause: total.get(cause, 0) for cause in _CAUSES[1:]}
        if expected is not None:
            found |= {"wide": held_bytes - expected, "views": total.get(_NEEDED, 0) - held_bytes}
        return {cause: size for cause, size in found.items() if size > 0}

    def _cause(self, id_: Node, name: Node) -> str:
        """Why a piece of state is there: it is needed, or what makes it surplus."""
        if id_ in self.unwanted:
            return self.unwanted[id_]
        if self.algorithm is None:
            return _NEEDED
        if not isinstance(name, str) or name not in self.algorithm.names:
            return "unknown"
        return "dead" if self._is_dead(name) else _NEEDED

    def _wide(self) -> Mapping[tuple[Node, str], str]:
        """The dtype that does for each needed piece of state that is wider than its parameter asks for."""
        if self.algorithm is None:
            return {}
        wide: dict[tuple[Node, str], str] = {}
        for id_, entry in self.entries.items():
            shape = self.shapes[id_]
            dtype = self._parameter_dtype(id_, shape)
            for name, value in entry.items():
                if not isinstance(value, Tensor) or value.dtype not in _NARROWER or not value.shape:
                    continue
                narrower, bits = _NARROWER[value.dtype]
                needed = _needed(value, name in self.algorithm.full, shape, dtype)
                if self._cause(id_, name) == _NEEDED and 8 * needed <= bits * value.numel:
                    wide[id_, name] = narrower
        return wide

    def _is_dead(self, name: str) -> bool:
        """Whether state belongs to an option that is off: ``max_exp_avg_sq`` with ``amsgrad=False``."""
        return (
            name == "max_exp_avg_sq" and bool(self.groups) and not any(g.get("amsgrad") for g in self.groups)
        )


def _needed(tensor: Tensor, is_full: bool, shape: Shape | None, dtype: str | None) -> int:
    """Bytes that this piece of state should take.

    ``dtype`` None means that the parameter is not known; then the state's own width is believed.
    """
    bits = _bits(tensor.dtype)
    if dtype is not None:
        bits = min(bits, max(_bits(dtype), 32))
    if tensor.parts or not tensor.shape:
        return min(tensor.size_bytes, tensor.numel * max(bits, 8) // 8) if tensor.parts else tensor.size_bytes
    numel = _numel(shape) if is_full and shape is not None else tensor.numel
    return (min(numel, tensor.numel) * bits + 7) // 8


def _bits(dtype: str) -> int:
    return ITEM_BITS.get(dtype, 8)


def _numel(shape: Shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def _listed(node: Node) -> list[Node]:
    if isinstance(node, dict):
        return list(node.values())
    return list(node) if isinstance(node, (list, tuple)) else []


def _ids(group: dict[Node, Node]) -> list[Node]:
    return [id_ for id_ in _listed(group.get("params")) if isinstance(id_, (int, str))]


def _entries(node: dict[Node, Node]) -> dict[Node, dict[Node, Node]]:
    """State by parameter; fastai keeps a list."""
    state = node.get("state")
    if isinstance(state, list):
        return {index: entry for index, entry in enumerate(state) if isinstance(entry, dict)}
    if isinstance(state, dict):
        return {id_: entry for id_, entry in state.items() if isinstance(entry, dict)}
    return {}


def _group_facts(group: dict[Node, Node]) -> ParamGroupFacts:
    options: dict[str, object] = {}
    for key, value in group.items():
        if isinstance(key, str) and key not in ("params", "param_names") and len(options) < _MAX_OPTIONS:
            shown = _option(value)
            if shown is not _NOTHING:
                options[clean(key, 80)] = shown
    return ParamGroupFacts(len(_listed(group.get("params"))), options)


_NOTHING = object()


def _option(value: Node) -> object:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return clean(value)
    if (
        isinstance(value, (tuple, list))
        and len(value) <= 8
        and all(isinstance(v, (bool, int, float)) for v in value)
    ):
        return tuple(value)
    return _NOTHING


def _sum_by(pairs: Iterator[tuple[str, int]]) -> Mapping[str, int]:
    total: Counter[str] = Counter()
    for name, size in pairs:
        total[name] += size
    return dict(total)


def _shown(ids: list[Node]) -> tuple[str, ...]:
    return tuple(clean(str(show_key(id_))) for id_ in ids)
