"""Gives meaning to the names by which PyTorch rebuilds tensors; every other call stays a record.

The signatures are those of ``torch/_utils.py`` and ``torch/_tensor.py`` in PyTorch 1.0 to 2.14.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.tree import Blob, Global, Node, Record, Storage, Tensor, walk

_MAX_DIMENSIONS = 64
_INNER_DEPTH = 6
_INNER_NODES = 256
"""How much of a wrapper's state is searched for its tensors: they stand near its top."""

STORAGE_DTYPES: dict[str, str] = {
    "DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16", "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16",
    "CharStorage": "int8", "ByteStorage": "uint8", "BoolStorage": "bool",
    "ComplexDoubleStorage": "complex128", "ComplexFloatStorage": "complex64", "QInt8Storage": "qint8",
    "QInt32Storage": "qint32", "QUInt8Storage": "quint8", "QUInt4x2Storage": "quint4x2",
    "QUInt2x4Storage": "quint2x4", "UntypedStorage": "untyped",
}  # fmt: skip
"""Element type by the class of the storage."""


def storage_dtype(maker: Node) -> str:
    """Element type of a storage class.

    Raises:
        Malformed: It is no storage class of torch.
    """
    if isinstance(maker, Global) and maker.module.startswith("torch"):
        dtype = STORAGE_DTYPES.get(maker.name)
        if dtype is not None:
            return dtype
    raise Malformed("its pickle refers to a storage of unknown type")


def build(maker: Node, args: Node, nested: Callable[[bytes], Node] | None) -> Node:
    """What calling ``maker`` with ``args`` stands for: a tensor, a container, a name, or a record.

    Args:
        maker: What the pickle would call.
        args: Its arguments, normally a tuple.
        nested: Decodes a torch.save stream that is an argument; None leaves it a record.
    """
    if isinstance(maker, Global) and isinstance(args, tuple):
        builder = _BUILDERS.get(f"{maker.module}.{maker.name}")
        if builder is not None:
            built = builder(args)
            if built is not None:
                return built
        elif maker.name == "_load_from_bytes" and maker.module == "torch.storage":
            return _load_from_bytes(maker, args, nested)
    return Record(maker, args)


def is_parameter_class(record: Record) -> bool:
    """Whether a record is a bare ``torch.nn.Parameter`` of a very old file."""
    return record.class_path in ("torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer")


def dtype_name(node: Node) -> str | None:
    """Name of a dtype as ``float32``, where the node is one."""
    if isinstance(node, Global) and node.module == "torch":
        return node.name
    return None


def _shape(node: Node) -> tuple[int, ...] | None:
    if isinstance(node, (tuple, list)) and len(node) <= _MAX_DIMENSIONS:
        for size in node:
            if type(size) is not int or size < 0:
                return None
        return tuple(node)
    return None


def _rebuild_tensor(args: tuple[Node, ...]) -> Node:
    if len(args) < 4 or not isinstance(args[0], Storage):
        return None
    shape = _shape(args[2])
    return None if shape is None else Tensor(args[0], args[0].dtype, shape)


def _rebuild_tensor_v3(args: tuple[Node, ...]) -> Node:
    tensor = _rebuild_tensor(args)
    if isinstance(tensor, Tensor) and len(args) > 6:
        tensor.dtype = dtype_name(args[6]) or tensor.dtype
    return tensor


def _rebuild_parameter(args: tuple[Node, ...]) -> Node:
    if args and isinstance(args[0], Tensor):
        args[0].is_parameter = True
        return args[0]
    return None


def _rebuild_from_type(args: tuple[Node, ...]) -> Node:
    if len(args) < 3 or not isinstance(args[0], Global) or not isinstance(args[2], tuple):
        return None
    builder = _BUILDERS.get(f"{args[0].module}.{args[0].name}")
    tensor = builder(args[2]) if builder is not None else None
    if not isinstance(tensor, Tensor):
        return None
    kind = args[1].name if isinstance(args[1], Global) else "subclass"
    tensor.kind = tensor.kind if kind in ("Tensor", "Parameter") else kind
    tensor.state = args[3] if len(args) > 3 else None
    if tensor.storage is None:
        tensor.parts = _inner(tensor.state, tensor.kind)
    return tensor


def _inner(state: Node, kind: str) -> tuple[Tensor, ...]:
    """Tensors that hold the data of a wrapper: for a DTensor only the local shard, not its mesh."""
    found = []
    for path, node in islice(walk(state, max_depth=_INNER_DEPTH), _INNER_NODES):
        if isinstance(node, Tensor) and (kind != "DTensor" or path[-1:] == ("_local_tensor",)):
            found.append(node)
    return tuple(found)


def _rebuild_wrapper_subclass(args: tuple[Node, ...]) -> Node:
    if len(args) < 3:
        return None
    shape = _shape(args[2])
    if shape is None:
        return None
    kind = args[0].name if isinstance(args[0], Global) else "subclass"
    return Tensor(None, dtype_name(args[1]) or "untyped", shape, kind)


def _rebuild_sparse(args: tuple[Node, ...]) -> Node:
    if len(args) < 2 or not isinstance(args[1], tuple):
        return None
    parts = tuple(part for part in args[1] if isinstance(part, Tensor))
    shape = next((s for s in map(_shape, args[1]) if s is not None), None)
    if len(parts) < 2 or shape is None:
        return None
    tensor = Tensor(None, parts[-1].dtype, shape, "sparse")
    tensor.parts = parts
    return tensor


def _rebuild_quantised(args: tuple[Node, ...]) -> Node:
    tensor = _rebuild_tensor(args)
    if isinstance(tensor, Tensor):
        tensor.kind = "quantised"
    return tensor


def _rebuild_nested(args: tuple[Node, ...]) -> Node:
    parts = tuple(part for part in args if isinstance(part, Tensor))
    if not parts:
        return None
    tensor = Tensor(None, parts[0].dtype, parts[0].shape, "nested")
    tensor.parts = parts
    return tensor


def _rebuild_meta(args: tuple[Node, ...]) -> Node:
    if len(args) < 2:
        return None
    shape = _shape(args[1])
    return None if shape is None else Tensor(None, dtype_name(args[0]) or "untyped", shape, "meta")


def _rebuild_from_numpy(args: tuple[Node, ...]) -> Node:
    if len(args) < 2:
        return None
    inner = args[0]
    if isinstance(inner, Tensor):
        return inner
    shape, dtype = array_layout(inner)
    if shape is None:
        return None
    name = dtype_name(args[1]) or dtype or "untyped"
    device = args[2] if len(args) > 2 and isinstance(args[2], str) else None
    return Tensor(None, name, shape, "array").give_storage(f"array-{id(inner)}", device)


def array_layout(node: Node) -> tuple[tuple[int, ...] | None, str | None]:
    """Shape and dtype code of a pickled numpy array; (None, None) where the node is none."""
    if isinstance(node, Record) and node.class_path.endswith("multiarray._reconstruct"):
        state = node.state
        if isinstance(state, tuple) and len(state) >= 3:
            return _shape(state[1]), _array_code(state[2])
    elif isinstance(node, Record) and node.class_path.endswith("numeric._frombuffer") and len(node.args) >= 3:
        return _shape(node.args[2]), _array_code(node.args[1])
    return None, None


def _array_code(node: Node) -> str | None:
    if (
        isinstance(node, Record)
        and isinstance(node.args, tuple)
        and node.args
        and isinstance(node.args[0], str)
    ):
        return node.args[0]
    return None


def _load_from_bytes(maker: Global, args: tuple[Node, ...], nested: Callable[[bytes], Node] | None) -> Node:
    if nested is not None and args and isinstance(args[0], (bytes, Blob)):
        raw = args[0] if isinstance(args[0], bytes) else bytes(args[0].view)
        return nested(raw)
    return Record(maker, args)


def _size(args: tuple[Node, ...]) -> Node:
    return _shape(args[0]) if args else ()


def _ordered_dict(args: tuple[Node, ...]) -> Node:
    if not args:
        return {}
    if isinstance(args[0], dict):
        return args[0]
    if isinstance(args[0], list) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str) for pair in args[0]
    ):
        return {pair[0]: pair[1] for pair in args[0]}
    return None


def _default_dict(args: tuple[Node, ...]) -> Node:
    return {} if len(args) < 2 else _ordered_dict(args[1:])


def _list(args: tuple[Node, ...]) -> Node:
    if not args:
        return []
    return args[0] if isinstance(args[0], (list, tuple)) else None


def _encode(args: tuple[Node, ...]) -> Node:
    """``_codecs.encode(text, "latin1")``: how protocol 2 spells bytes."""
    if len(args) != 2 or args[1] not in ("latin1", "latin-1"):
        return None
    text = args[0]
    try:
        if isinstance(text, Blob) and text.is_text:
            text = str(text.view, "utf-8")
        raw = text.encode("latin-1") if isinstance(text, str) else None
    except UnicodeError:
        return None
    if raw is None:
        return None
    return raw if len(raw) <= 256 else Blob(memoryview(raw))


def _bytes(args: tuple[Node, ...]) -> Node:
    """``bytes()``: how protocol 2 spells empty bytes."""
    return None if args else b""


def _getattr(args: tuple[Node, ...]) -> Node:
    """``getattr(<name>, "x")``: how protocol 2 spells a nested class."""
    if len(args) == 2 and isinstance(args[0], Global) and isinstance(args[1], str):
        return Global(args[0].module, f"{args[0].name}.{args[1]}")
    return None


_Builder = Callable[[tuple[Node, ...]], Node]

_BUILDERS: dict[str, _Builder] = {
    "torch._utils._rebuild_tensor": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": _rebuild_tensor_v3,
    "torch._utils._rebuild_parameter": _rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _rebuild_parameter,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch._tensor._rebuild_from_type": _rebuild_from_type,
    "torch.tensor._rebuild_from_type_v2": _rebuild_from_type,
    "torch.tensor._rebuild_from_type": _rebuild_from_type,
    "torch._utils._rebuild_wrapper_subclass": _rebuild_wrapper_subclass,
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse,
    "torch._utils._rebuild_sparse_csr_tensor": _rebuild_sparse,
    "torch._utils._rebuild_qtensor": _rebuild_quantised,
    "torch._utils._rebuild_nested_tensor": _rebuild_nested,
    "torch.nested._internal.nested_tensor._rebuild_njt": _rebuild_nested,
    "torch._utils._rebuild_meta_tensor_no_storage": _rebuild_meta,
    "torch._utils._rebuild_device_tensor_from_numpy": _rebuild_from_numpy,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": _rebuild_from_numpy,
    "torch._utils._rebuild_xla_tensor": _rebuild_from_numpy,
    "torch.Size": _size,
    "collections.OrderedDict": _ordered_dict,
    "collections.Counter": _ordered_dict,
    "collections.defaultdict": _default_dict,
    "__builtin__.dict": _ordered_dict,
    "builtins.dict": _ordered_dict,
    "__builtin__.list": _list,
    "builtins.list": _list,
    "__builtin__.bytes": _bytes,
    "builtins.bytes": _bytes,
    "_codecs.encode": _encode,
    "__builtin__.getattr": _getattr,
    "builtins.getattr": _getattr,
}
