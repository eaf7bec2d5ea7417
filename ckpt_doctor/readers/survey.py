"""Finds runtime state in decoded trees by the shape of values and the names of keys.

What a value is made of says more than its name: 5056 bytes are torch's CPU generator, a dict with
``param_groups`` and ``state`` is an optimizer, ``growth_factor`` belongs to a gradient scaler. Names
decide where shapes are alike (``readers/aliases.py``). Shapes are those of PyTorch 1.8 to 2.14,
numpy 1 and 2, and CPython's ``random``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ckpt_doctor.facts.states import PresenceDetail, StateKind
from ckpt_doctor.readers import aliases
from ckpt_doctor.readers.documents import Bundle, Document
from ckpt_doctor.readers.limits import MAX_NODES, Budget
from ckpt_doctor.readers.tree import Blob, Node, Path, Record, Tensor, children, show_path, walk

TORCH_RNG_SHAPE = (5056,)
"""Bytes of ``torch.get_rng_state()``: mt19937 with its caches (aten/src/ATen/CPUGeneratorImpl.cpp)."""
CUDA_RNG_SHAPES = ((16,), (8,), (816,))
"""Seed and offset; seed alone; before PyTorch 1.8."""
_PYTHON_RNG_LENGTH = 625
_COUNTER_DEPTH = 3
_SEARCH_DEPTH = 12
_MAX_FINDS = 2_000
_CHECK_EVERY = 4096
_CACHE_TYPES = (b"aW5kdWN0b3I", b"YW90X2F1dG9ncmFk", b"YXV0b3R1bmU", b"cGdv", b"cHJlY29tcGlsZQ")
"""Base64 of inductor, aot_autograd, autotune, pgo, precompile: the groups of torch's portable cache."""


class Find(NamedTuple):
    """One state that was found, or the empty place where it would be."""

    kind: StateKind
    document: Document
    path: Path
    node: Node
    detail: PresenceDetail | None = None
    note: str | None = None

    @property
    def where(self) -> str:
        """File and key path, as people write it."""
        return self.document.show(show_path(self.path)) or "the whole file"

    @property
    def is_there(self) -> bool:
        """Whether the state is in the file, be it in part."""
        return self.detail in (None, PresenceDetail.INCOMPLETE, PresenceDetail.COUNT) or (
            self.detail is PresenceDetail.EMPTY and self.kind in (StateKind.SCALER, StateKind.CUDA_RNG)
        )


class Survey:
    """All that was found in a checkpoint."""

    def __init__(self) -> None:
        self.finds: list[Find] = []
        self.tensors: list[tuple[Document, Path, Tensor]] = []
        self.complete = True
        """Whether every object was looked at."""
        self.compiled_by: str | None = None
        """Where a setting says that the model was compiled."""
        self.half_by: str | None = None
        """Where a setting says that training was in float16."""

    def of(self, kind: StateKind) -> list[Find]:
        """What was found of one kind, present ones first."""
        return sorted(
            (f for f in self.finds if f.kind is kind), key=lambda f: (not f.is_there, f.detail is not None)
        )

    def has(self, kind: StateKind) -> bool:
        """Whether a state of this kind is there."""
        return any(f.is_there for f in self.finds if f.kind is kind)


def survey(bundle: Bundle, budget: Budget) -> Survey:
    """Look through every document of a checkpoint.

    Raises:
        Malformed: The time is used up.
    """
    found = Survey()
    for document in bundle.documents.values():
        budget.check_time()
        _Search(found, document, bundle.is_folder, budget).run()
    _settle_models(found)
    return found


def is_optimizer(node: Node) -> bool:
    """Whether a node is the state dict of a torch optimizer."""
    return isinstance(node, dict) and "param_groups" in node and "state" in node


def is_scheduler(node: Node) -> bool:
    """Whether a node is the state dict of a torch learning-rate scheduler."""
    if not isinstance(node, dict):
        return False
    if "last_epoch" in node and ("base_lrs" in node or "_step_count" in node or "_last_lr" in node):
        return True
    return ("num_bad_epochs" in node and "patience" in node) or (
        "_schedulers" in node and "_milestones" in node
    )


def is_scaler(node: Node) -> bool:
    """Whether a node is the state dict of a gradient scaler."""
    return isinstance(node, dict) and "growth_factor" in node and "backoff_factor" in node


def is_loader(node: Node) -> bool:
    """Whether a node is the state of torchdata's StatefulDataLoader."""
    return isinstance(node, dict) and (
        "_num_yielded" in node
        or "_sampler_iter_yielded" in node
        or ("_snapshot" in node and "_steps_since_snapshot" in node)
    )


def is_module(node: Node) -> bool:
    """Whether a node is a whole ``torch.nn.Module``, or a TorchScript one."""
    if isinstance(node, Record) and node.class_path.startswith("__torch__."):
        return True
    return isinstance(node, Record) and "_parameters" in node.attributes() and "_modules" in node.attributes()


def is_torch_rng(node: Node) -> bool:
    """Whether a node is the state of torch's CPU generator."""
    if isinstance(node, Tensor):
        return node.shape == TORCH_RNG_SHAPE and node.dtype == "uint8"
    return isinstance(node, Record) and node.class_path == "torch._C.Generator"


def is_numpy_rng(node: Node) -> bool:
    """Whether a node is the state of a numpy generator."""
    if isinstance(node, (tuple, list)):
        return len(node) >= 3 and isinstance(node[0], str) and node[0] == "MT19937"
    if isinstance(node, dict):
        return isinstance(node.get("bit_generator"), str) and "state" in node
    return isinstance(node, Record) and node.class_path.startswith(
        ("numpy.random._pickle.", "numpy.random.mtrand.")
    )


def is_python_rng(node: Node) -> bool:
    """Whether a node is what ``random.getstate()`` gives."""
    return (
        isinstance(node, (tuple, list))
        and len(node) == 3
        and node[0] in (2, 3)
        and isinstance(node[1], (tuple, list))
        and len(node[1]) == _PYTHON_RNG_LENGTH
    )


def is_compile_cache(head: bytes) -> bool:
    """Whether bytes begin like what ``torch.compiler.save_cache_artifacts()`` gives."""
    start = head[:64]
    return any(kind in start for kind in _CACHE_TYPES) and b"\0\0\0\0" in start[:16]


def counter_value(node: Node) -> int | float | None:
    """The number where a node is one; None where it is no number or only a tensor that was not read."""
    if isinstance(node, (int, float)) and not isinstance(node, bool):
        return node
    return None


def is_counter(node: Node) -> bool:
    """Whether a node is a number, or a tensor or array of one element."""
    if counter_value(node) is not None:
        return True
    if isinstance(node, Tensor):
        return node.numel == 1
    return isinstance(node, Record) and node.class_path.endswith("multiarray.scalar")


def is_state_dict(node: Node) -> bool:
    """Whether a node maps names to tensors, with little else among them."""
    if not isinstance(node, dict) or not node:
        return False
    tensors = 0
    any_shape = False
    for key, value in node.items():
        if isinstance(value, Tensor) and not is_torch_rng(value):
            tensors += isinstance(key, str)
            any_shape = any_shape or bool(value.shape)
    return any_shape and 2 * tensors > len(node)


def has_tensors(node: Node) -> bool:
    """Whether a tensor with elements lies anywhere below a node."""
    return any(
        isinstance(below, Tensor) and not is_torch_rng(below)
        for _, below in walk(node, max_depth=_SEARCH_DEPTH)
    )


class _Search:
    """One pass over one document."""

    def __init__(self, found: Survey, document: Document, in_folder: bool, budget: Budget) -> None:
        self.found = found
        self.document = document
        self.budget = budget
        self.seen: set[int] = set()
        self.left = MAX_NODES
        stem = document.name.rpartition("/")[2].partition(".")[0] if in_folder else ""
        self.outer: Path = (stem.rstrip("0123456789_"),) if stem else ()

    def run(self) -> None:
        root = self.document.root
        self._metadata()
        stack: list[Iterator[tuple[Path, Node]]] = []
        below = self._visit((), root)
        if below is not None:
            stack.append(below)
        while stack:
            for path, node in stack[-1]:
                self.left -= 1
                if self.left % _CHECK_EVERY == 0:
                    self.budget.check_time()
                if self.left < 0 or len(self.found.finds) > _MAX_FINDS:
                    self.found.complete = False
                    return
                below = self._visit(path, node)
                if below is not None and len(stack) < _SEARCH_DEPTH:
                    stack.append(below)
                    break
            else:
                stack.pop()

    def add(
        self,
        kind: StateKind,
        path: Path,
        node: Node,
        detail: PresenceDetail | None = None,
        note: str | None = None,
    ) -> None:
        self.found.finds.append(Find(kind, self.document, path, node, detail, note))

    def _metadata(self) -> None:
        for key, text in self.document.metadata.items():
            name = key.lower().removeprefix("ss_")
            kind = (
                StateKind.STEP if name in aliases.STEP else StateKind.EPOCH if name in aliases.EPOCH else None
            )
            if kind is not None and text.replace(".", "", 1).isdigit():
                self.add(kind, ("__metadata__", key), int(float(text)) if len(text) < 18 else None)

    def _visit(self, path: Path, node: Node) -> Iterator[tuple[Path, Node]] | None:
        """Record what a node is; what lies below it where that is still to be searched."""
        if isinstance(node, Tensor):
            self._tensor(path, node)
            self._leaf(path, node)
            if node.numel == 1:
                self._named(path, node)
            return None
        if isinstance(node, (dict, list, tuple, Record)):
            if id(node) in self.seen:
                return None
            self.seen.add(id(node))
            if self._claimed(path, node):
                return None
            self._named(path, node)
            return (((*path, step), child) for step, child in children(node))
        self._leaf(path, node)
        self._named(path, node)
        return None

    def _claimed(self, path: Path, node: Node) -> bool:
        """Whether a container is a state by its shape; then only its tensors are collected."""
        name = self._name(path)
        if is_optimizer(node) or (aliases.OPTIMIZER.fullmatch(name) and self._is_other_optimizer(node)):
            self.add(StateKind.OPTIMIZER, path, node)
        elif is_scheduler(node):
            self.add(StateKind.SCHEDULER, path, node)
        elif is_scaler(node):
            self.add(StateKind.SCALER, path, node)
        elif is_loader(node):
            self._loader(path, node)
        elif is_numpy_rng(node):
            self.add(StateKind.NUMPY_RNG, path, node)
            return True
        elif is_python_rng(node):
            self.add(StateKind.PYTHON_RNG, path, node)
            return True
        elif is_torch_rng(node):
            self._torch_rng(path, node)
            return True
        elif self._is_ema(path, name, node):
            self.add(StateKind.EMA, path, node)
        elif is_module(node):
            self.add(StateKind.MODEL, path, node)
        elif is_state_dict(node) and len(path) <= _COUNTER_DEPTH:
            if not path and any(isinstance(value, (dict, list, Record)) for value in node.values()):
                return self._weights_beside_others(node)
            self._state_dict(path, name, node)
        elif not path and self.document.format == "dcp" and isinstance(node, dict):
            return self._weights_beside_others(node)
        elif name in aliases.MODEL and len(path) <= 2 and has_tensors(node) and not self._holds_states(node):
            self.add(StateKind.MODEL, path, node)
        else:
            return False
        self._collect(path, node)
        return True

    def _weights_beside_others(self, node: dict[Node, Node]) -> bool:
        """Weights at the top level among other states, as torchtitan keeps them; the rest is searched on."""
        weights = {
            key: value
            for key, value in node.items()
            if isinstance(key, str) and "." in key and isinstance(value, Tensor) and not is_torch_rng(value)
        }
        if weights:
            self.add(StateKind.MODEL, (), weights)
        return False

    def _collect(self, path: Path, node: Node) -> None:
        document, add = self.document, self.found.tensors.append
        if isinstance(node, dict) and self._is_flat(node):
            self.left -= len(node)
            self.found.tensors.extend((document, (*path, key), value) for key, value in node.items())
            return
        for below, child in walk(node, path):
            self.left -= 1
            if self.left % _CHECK_EVERY == 0:
                self.budget.check_time()
            if self.left < 0:
                return
            if isinstance(child, Tensor):
                add((document, below, child))

    def _is_flat(self, node: dict[Node, Node]) -> bool:
        """Whether a dict has nothing but tensors by name, as most state dicts do."""
        return set(map(type, node)) <= {str} and set(map(type, node.values())) <= {Tensor}

    def _holds_states(self, node: Node) -> bool:
        """Whether a container called like a model holds other states, as Composer's ``state`` does."""
        return any(is_optimizer(child) or is_scheduler(child) for _, child in walk(node, max_depth=2))

    def _is_other_optimizer(self, node: Node) -> bool:
        """Fastai's lists, torchao's offload, or any dict with tensors that is called an optimizer."""
        if not isinstance(node, dict):
            return False
        if any(is_optimizer(child) for _, child in walk(node, max_depth=3)):
            return False
        return "hypers" in node or "offloaded" in node or has_tensors(node)

    def _is_ema(self, path: Path, name: str, node: Node) -> bool:
        if isinstance(node, dict) and ("shadow_params" in node or "n_averaged" in node):
            return True
        if not aliases.EMA.fullmatch(name) or len(path) > _COUNTER_DEPTH:
            return False
        return (
            is_module(node) or is_state_dict(node) or (isinstance(node, (dict, list)) and has_tensors(node))
        )

    def _state_dict(self, path: Path, name: str, node: dict[Node, Node]) -> None:
        if not aliases.GRADIENTS.fullmatch(name) and not aliases.RNG.fullmatch(name):
            kind = StateKind.OPTIMIZER if _is_flat_optimizer(node) else StateKind.MODEL
            self.add(kind, path, node)

    def _loader(self, path: Path, node: dict[Node, Node]) -> None:
        generator = next((at for at in walk(node, path, _SEARCH_DEPTH) if is_torch_rng(at[1])), None)
        permuted = any(
            show == "_sampler_iter_state" and child is not None
            for at, child in walk(node, path, _SEARCH_DEPTH)
            for show in at[-1:]
        )
        if permuted:
            self.add(StateKind.DATALOADER_POSITION, path, node)
        else:
            why = "it counts batches, but the sampler's order is not in it"
            self.add(StateKind.DATALOADER_POSITION, path, node, PresenceDetail.INCOMPLETE, why)
        if generator is not None:
            self.add(StateKind.SAMPLER_RNG, *generator)

    def _tensor(self, path: Path, tensor: Tensor) -> None:
        self.found.tensors.append((self.document, path, tensor))

    def _leaf(self, path: Path, node: Node) -> None:
        if is_torch_rng(node):
            self._torch_rng(path, node)
        elif isinstance(node, Tensor) and node.dtype == "uint8" and node.shape in CUDA_RNG_SHAPES:
            if self._is_cuda(path):
                self.add(StateKind.CUDA_RNG, path, node)
        elif isinstance(node, (Blob, bytes)):
            head = node[:64] if isinstance(node, bytes) else bytes(node.view[:64])
            if is_compile_cache(head):
                self.add(StateKind.COMPILE_CACHE, path, node)

    def _torch_rng(self, path: Path, node: Node) -> None:
        names = [str(step).lower() for step in (*self.outer, *path)]
        of_sampler = any(
            aliases.LOADER.fullmatch(n) or n in aliases.SAMPLER_SEED or "sampler" in n for n in names
        )
        self.add(StateKind.SAMPLER_RNG if of_sampler else StateKind.TORCH_RNG, path, node)

    def _is_cuda(self, path: Path) -> bool:
        names = [str(step).lower() for step in (*self.outer, *path)]
        return any("cuda" in name for name in names) and any(
            aliases.RNG.fullmatch(name) or name in ("cuda", "torch.cuda") for name in names
        )

    def _name(self, path: Path) -> str:
        """The last name above a node; a list's items bear the name of their list."""
        for step in reversed((*self.outer, *path)):
            if isinstance(step, str):
                return step.lower()
        return ""

    def _named(self, path: Path, node: Node) -> None:
        """States that only their key tells: counters, empty places, schedulers of other make."""
        of_file = not path and bool(self.outer) and isinstance(node, (dict, list))
        if not of_file and not (path and isinstance(path[-1], str)):
            return
        name = self._name(path)
        parents = [str(step).lower() for step in (*self.outer, *path[:-1])]
        if any(aliases.CONFIGURATION.fullmatch(parent) for parent in parents):
            self._argument(path, name, node)
            self._setting(path, name, parents, node)
            return
        self._argument(path, name, node)
        self._setting(path, name, parents, node)
        if len(path) <= _COUNTER_DEPTH:
            self._counter(path, name, parents, node)
            self._place(path, name, node)

    def _setting(self, path: Path, name: str, parents: list[str], node: Node) -> None:
        """Settings that tell what the run had: a compiled model, training in float16."""
        if node is True and name in aliases.COMPILE:
            self.found.compiled_by = self.found.compiled_by or self._shown(path)
        of_half = name == "fp16" or (name == "enabled" and parents[-1:] == ["fp16"])
        if (node is True and of_half) or (name in aliases.PRECISION and node in aliases.HALF):
            self.found.half_by = self.found.half_by or self._shown(path)

    def _shown(self, path: Path) -> str:
        return self.document.show(show_path(path))

    def _argument(self, path: Path, name: str, node: Node) -> None:
        if name in aliases.LOADER_ARGUMENTS and (node is None or isinstance(node, (bool, int))):
            self.add(StateKind.LOADER_ARGUMENTS, path, node)

    def _counter(self, path: Path, name: str, parents: list[str], node: Node) -> None:
        in_loader = any(aliases.LOADER.fullmatch(parent) for parent in parents)
        if name in aliases.SAMPLER_EPOCH or (in_loader and name in aliases.EPOCH):
            kind = StateKind.SAMPLER_EPOCH
        elif name in aliases.POSITION:
            kind = StateKind.DATALOADER_POSITION
        elif name in aliases.SAMPLER_SEED and "seed" in name:
            kind = StateKind.SAMPLER_RNG
        elif name in aliases.STEP:
            kind = StateKind.STEP
        elif name in aliases.EPOCH:
            kind = StateKind.EPOCH
        else:
            return
        if is_counter(node):
            detail = PresenceDetail.COUNT if kind is StateKind.DATALOADER_POSITION else None
            self.add(kind, path, node, detail)
        elif node is None:
            self.add(kind, path, node, PresenceDetail.NULL)

    def _place(self, path: Path, name: str, node: Node) -> None:
        empty = isinstance(node, (dict, list, tuple)) and not node
        detail = PresenceDetail.NULL if node is None else PresenceDetail.EMPTY if empty else None
        if aliases.SCALER.fullmatch(name):
            if detail is not None or isinstance(node, (dict, Record)):
                self.add(StateKind.SCALER, path, node, detail)
        elif aliases.SCHEDULER.fullmatch(name):
            if detail is not None:
                self.add(StateKind.SCHEDULER, path, node, detail)
            elif isinstance(node, (dict, list, Record)):
                self._other_scheduler(path, node)
        elif aliases.OPTIMIZER.fullmatch(name) and not aliases.NOT_OPTIMIZER.fullmatch(name):
            if detail is not None:
                self.add(StateKind.OPTIMIZER, path, node, detail)
        elif name in aliases.MODEL:
            if detail is not None:
                self.add(StateKind.MODEL, path, node, detail)
        elif aliases.EMA.fullmatch(name):
            if detail is not None:
                self.add(StateKind.EMA, path, node, detail)
        elif (
            detail is PresenceDetail.EMPTY
            and isinstance(node, (list, tuple))
            and "cuda" in name
            and self._is_cuda(path)
        ):
            self.add(StateKind.CUDA_RNG, path, node, detail, "the list is empty: no CUDA device at the save")
        elif (
            aliases.COMPILE_CACHE.fullmatch(name)
            and isinstance(node, (Blob, bytes))
            and len(bytes_of(node)) > 0
        ):
            self.add(StateKind.COMPILE_CACHE, path, node)

    def _other_scheduler(self, path: Path, node: Node) -> None:
        below = [child for _, child in walk(node, max_depth=3)]
        if any(isinstance(each, (dict, Record)) for each in below) and not any(map(is_scheduler, below)):
            self.add(StateKind.SCHEDULER, path, node)


def bytes_of(node: Blob | bytes) -> memoryview | bytes:
    """The bytes of either form, without a copy."""
    return node.view if isinstance(node, Blob) else node


_FLAT_STATE_NAMES = frozenset(
    [
        "exp_avg",
        "exp_avg_sq",
        "max_exp_avg_sq",
        "momentum_buffer",
        "square_avg",
        "acc_delta",
        "sum",
        "exp_inf",
        "exp_avg_sq_row",
        "exp_avg_sq_col",
        "row_var",
        "col_var",
    ]
)


def _is_flat_optimizer(node: dict[Node, Node]) -> bool:
    """Whether the keys of a flat dict end in names of optimizer state: optimizers kept as safetensors."""
    names = [key.rpartition(".")[2] for key in node if isinstance(key, str)]
    return sum(map(_FLAT_STATE_NAMES.__contains__, names)) * 2 > len(names)


def _settle_models(found: Survey) -> None:
    """Keep the model's own dicts: those with a model's name, else the outermost ones."""
    models = [f for f in found.finds if f.kind is StateKind.MODEL and f.is_there]
    named = [f for f in models if _model_name(f) in aliases.MODEL or not f.path or is_module(f.node)]
    if named and len(named) < len(models):
        dropped = {id(f) for f in models} - {id(f) for f in named}
        found.finds[:] = [f for f in found.finds if id(f) not in dropped]


def _model_name(find: Find) -> str:
    return next((str(step).lower() for step in reversed(find.path) if isinstance(step, str)), "")
