"""What a decoded checkpoint is made of: plain containers, and inert nodes for everything else.

Dicts, lists, tuples, short strings, bytes, numbers, booleans and None stay what they are. Nothing
here is ever called, and none of the nodes is compared or hashed by its content.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ckpt_doctor.readers.limits import MAX_NODES
from ckpt_doctor.readers.text import clean

Node = Any
"""Any object of a decoded tree. The content of a file has no static type."""

ITEM_BITS: dict[str, int] = {
    "float64": 64, "float32": 32, "float16": 16, "bfloat16": 16, "int64": 64, "int32": 32, "int16": 16,
    "int8": 8, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64, "bool": 8, "complex128": 128,
    "complex64": 64, "complex32": 32, "qint8": 8, "quint8": 8, "qint32": 32, "quint4x2": 8, "quint2x4": 8,
    "float8_e4m3fn": 8, "float8_e5m2": 8, "float8_e4m3fnuz": 8, "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8,
    "float4_e2m1fn_x2": 8, "float6_e2m3": 6, "float6_e3m2": 6, "float4": 4, "bits8": 8, "bits16": 16,
    "bits1x8": 8, "bits2x4": 8, "bits4x2": 8, "untyped": 8,
}  # fmt: skip
"""Bits of one element by dtype name."""


class Global:
    """A name that a pickle refers to, as ``torch._utils._rebuild_tensor_v2``. It is never imported."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    @property
    def path(self) -> str:
        """Module and name, joined by a dot, safe to show."""
        return clean(f"{self.module}.{self.name}")


class Record:
    """An object of a class that has no meaning here: how it would be built, and what is attached to it."""

    __slots__ = ("args", "entries", "items", "maker", "state")

    def __init__(self, maker: Node, args: Node) -> None:
        self.maker = maker
        self.args = args
        self.state: Node = None
        self.items: list[Node] | None = None
        self.entries: dict[Node, Node] | None = None

    @property
    def class_path(self) -> str:
        """Name of its class or function; empty where that is no name."""
        return self.maker.path if isinstance(self.maker, Global) else ""

    @property
    def class_name(self) -> str:
        """Last part of ``class_path``."""
        return clean(self.maker.name.rpartition(".")[2]) if isinstance(self.maker, Global) else ""

    def attributes(self) -> dict[Node, Node]:
        """Attributes that the pickle would set, or an empty dict."""
        state = self.state
        if isinstance(state, tuple) and len(state) == 2:
            state = state[0] if isinstance(state[0], dict) and state[0] else state[1]
        return state if isinstance(state, dict) else {}


class Key:
    """A dict key that must not be hashed by its content: a tuple, an object, a huge number."""

    __slots__ = ("value",)

    def __init__(self, value: Node) -> None:
        self.value = value


class Blob:
    """Bytes or text too long to copy: a window on the pickle that holds it."""

    __slots__ = ("is_text", "view")

    def __init__(self, view: memoryview, is_text: bool = False) -> None:
        self.view = view
        self.is_text = is_text

    @property
    def size_bytes(self) -> int:
        """Length in bytes."""
        return len(self.view)


class Storage:
    """Where tensors keep their elements. The elements themselves are never read."""

    __slots__ = ("device", "dtype", "key", "size_bytes")

    def __init__(self, key: str, dtype: str, device: str | None, size_bytes: int) -> None:
        self.key = key
        self.dtype = dtype
        self.device = device
        self.size_bytes = size_bytes


@lru_cache(4096)
def needed_bytes(dtype: str, shape: tuple[int, ...]) -> int:
    """Bytes that elements of a dtype take; those of unknown ones are taken for one byte each."""
    bits = ITEM_BITS.get(dtype, 8)
    for size in shape:
        bits *= size
    return (bits + 7) // 8


class Tensor:
    """A tensor's layout. A subclass, a sparse or a sharded tensor has its data in ``parts``."""

    __slots__ = ("__dict__", "dtype", "shape", "storage")

    # What few tensors have is kept in the class until it is set: there can be a hundred thousand.
    kind: str = "dense"
    parts: tuple[Tensor, ...] = ()
    state: Node = None
    is_parameter: bool = False

    def __init__(
        self, storage: Storage | None, dtype: str, shape: tuple[int, ...], kind: str | None = None
    ) -> None:
        self.storage = storage
        self.dtype = dtype
        self.shape = shape
        if kind is not None:
            self.kind = kind

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def size_bytes(self) -> int:
        """Bytes of its elements; of its parts where it has any; none where it has no data."""
        if self.parts:
            return sum(part.size_bytes for part in self.parts)
        return 0 if self.storage is None else needed_bytes(self.dtype, self.shape)

    def give_storage(self, key: str, device: str | None = None) -> Tensor:
        """Give it a storage of its own that is just as large as it needs."""
        self.storage = Storage(key, self.dtype, device, needed_bytes(self.dtype, self.shape))
        return self

    def storages(self) -> Iterator[Storage]:
        """Every storage that it reaches."""
        if self.storage is not None:
            yield self.storage
        for part in self.parts:
            yield from part.storages()


Path = tuple[str | int, ...]
"""Where a node is: dict keys, list indexes, attribute names."""


def show_path(path: Path) -> str:
    """A path as people write it: ``optimizer.state[0].exp_avg``, safe to show."""
    if len(path) == 1 and type(path[0]) is str:
        return clean(path[0])
    text = ""
    for step in path:
        if type(step) is str:
            text = f"{text}.{step}" if text else step
        else:
            text += f"[{step}]"
    return clean(text)


def children(node: Node) -> Iterator[tuple[str | int, Node]]:
    """What lies directly below a node, with the step that leads there."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key if type(key) is str else show_key(key), value
    elif isinstance(node, (list, tuple)):
        yield from enumerate(node)
    elif isinstance(node, Record):
        attributes = node.attributes()
        yield from children(attributes)
        if not attributes and isinstance(node.state, (tuple, list)):
            yield from enumerate(node.state)
        if node.entries:
            yield from children(node.entries)
        if node.items:
            yield from enumerate(node.items)
        if isinstance(node.args, tuple):
            for index, value in enumerate(node.args):
                if isinstance(value, (dict, list, tuple, Record, Tensor)):
                    yield f"args[{index}]", value


def show_key(key: Node) -> str | int:
    """A dict key as one step of a path."""
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    if isinstance(key, str):
        return key
    if isinstance(key, Key):
        value = key.value
        if isinstance(value, tuple) and len(value) <= 8 and all(isinstance(v, (str, int)) for v in value):
            return "(" + ", ".join(clean(str(v), 40) for v in value) + ")"
        return f"<{type(value).__name__}>"
    return clean(str(key))


def walk(root: Node, start: Path = (), max_depth: int = 64) -> Iterator[tuple[Path, Node]]:
    """Every node of a tree once, parents first, in the order of the file; bounded and safe on cycles."""
    yield start, root
    seen: set[int] = {id(root)}
    stack: list[tuple[Path, Iterator[tuple[str | int, Node]]]] = [(start, children(root))]
    left = MAX_NODES
    while stack:
        base, below = stack[-1]
        for step, node in below:
            left -= 1
            if left < 0:
                return
            path = (*base, step)
            yield path, node
            if (
                isinstance(node, (dict, list, tuple, Record))
                and len(stack) < max_depth
                and id(node) not in seen
            ):
                seen.add(id(node))
                stack.append((path, children(node)))
                break
        else:
            stack.pop()


def tensors_below(root: Node, start: Path = ()) -> Iterator[tuple[Path, Tensor]]:
    """Every tensor of a tree with its path."""
    for path, node in walk(root, start):
        if isinstance(node, Tensor):
            yield path, node
