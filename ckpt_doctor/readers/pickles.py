"""Decodes a pickle by its structure, without importing or calling anything that it names.

Every class and function stays an inert ``Global``; what would be a call becomes a ``Record``, and
an object's state is attached to that. ``tensors.build`` gives meaning to a fixed table of names.
The opcodes are those of Python's ``pickletools``; registered extension codes are refused, since no
checkpoint holds them.

The memo is a dict, so that an index of fifty million costs one entry; lengths are compared with
what is left before anything is read; containers are not hashed.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from ckpt_doctor.readers.limits import MAX_CONTAINERS, MAX_MEMO, MAX_PICKLE_BYTES, Budget, Malformed
from ckpt_doctor.readers.tensors import build, is_parameter_class
from ckpt_doctor.readers.text import clean
from ckpt_doctor.readers.tree import Blob, Global, Key, Node, Record, Tensor

Persistent = Callable[[Node], Node]
"""Turns a persistent id into a node; raises Malformed where it makes no sense."""

Nested = Callable[[bytes], Node]
"""Decodes a torch.save stream that is an argument within a pickle."""

_LONG_BINPUT = ord("r")
_CHUNK = 32_768
_LONG_TEXT = 65_536
_LONG_BYTES = 256
_LONG_NUMBER = 64
_LONG_LINE = 4_096
_SAFE_INT = 1 << 60
_MAX_DEPTH_OF_MARKS = 100_000

_UINT16 = struct.Struct("<H").unpack_from
_INT32 = struct.Struct("<i").unpack_from
_UINT32 = struct.Struct("<I").unpack_from
_UINT64 = struct.Struct("<Q").unpack_from
_DOUBLE = struct.Struct(">d").unpack_from


class Truncated(Malformed):
    """The pickle goes on beyond the bytes at hand."""


class Decoded:
    """A pickle's value, where it ended, and the names that it refers to."""

    __slots__ = ("end", "globals", "value")

    def __init__(self, value: Node, end: int, names: tuple[Global, ...]) -> None:
        self.value = value
        self.end = end
        self.globals = names


def refuse_persistent(pid: Node) -> Node:
    """The ``persistent`` of a pickle that has no business with persistent ids."""
    raise Malformed("its pickle refers to objects outside of itself")


def decode(
    data: bytes,
    budget: Budget,
    *,
    start: int = 0,
    persistent: Persistent = refuse_persistent,
    nested: Nested | None = None,
) -> Decoded:
    """Decode the pickle that begins at ``start``.

    Args:
        data: Bytes that hold it.
        budget: What may be spent.
        start: Where it begins.
        persistent: Gives the node of a persistent id.
        nested: Decodes a torch.save stream within the pickle; without it that stays a record.

    Raises:
        Truncated: It goes on beyond the end of ``data``.
        Malformed: It is no pickle, or it exceeds a limit.
    """
    return _Machine(data, budget, persistent, nested).run(start)


def decode_growing(
    read: Callable[[int, int], bytes],
    offset: int,
    available: int,
    budget: Budget,
    *,
    persistent: Persistent = refuse_persistent,
    nested: Nested | None = None,
    first_bytes: int = 1 << 18,
) -> Decoded:
    """Decode a pickle of unknown length within a file, reading little more than itself.

    Args:
        read: Gives the bytes at an offset, of a length.
        offset: Where the pickle begins.
        available: Bytes from there to the end of the file.
        budget: What may be spent.
        persistent: See ``decode``.
        nested: See ``decode``.
        first_bytes: How much to read at first; each further try reads four times as much.

    Raises:
        Malformed: As ``decode``. ``Decoded.end`` counts from ``offset``.
    """
    size = min(first_bytes, available)
    while True:
        try:
            return decode(read(offset, size), budget, persistent=persistent, nested=nested)
        except Truncated:
            if size >= min(available, MAX_PICKLE_BYTES):
                raise
            size = min(4 * size, available, MAX_PICKLE_BYTES)


class _Stop(Exception):
    """The STOP opcode was met."""


class _Machine:
    __slots__ = (
        "budget",
        "containers",
        "copied_bytes",
        "data",
        "marks",
        "memo",
        "names",
        "nested",
        "persistent",
        "stack",
        "stopped_at",
        "view",
    )

    def __init__(self, data: bytes, budget: Budget, persistent: Persistent, nested: Nested | None) -> None:
        self.data = data
        self.view = memoryview(data)
        self.budget = budget
        self.persistent = persistent
        self.nested = nested
        self.copied_bytes = 0
        self.stack: list[Node] = []
        self.marks: list[list[Node]] = []
        self.memo: dict[int, Node] = {}
        self.names: dict[tuple[str, str], Global] = {}
        self.containers = 0
        self.stopped_at = 0

    def run(self, start: int) -> Decoded:
        data, budget, steps = self.data, self.budget, range(_CHUNK)
        handlers, memo = _HANDLERS, self.memo
        pos, done = start, 0
        try:
            while True:
                budget.spend_opcodes(_CHUNK)
                self._check_sizes()
                for done in steps:  # noqa: B007
                    code = data[pos]
                    if code == _LONG_BINPUT:  # a quarter of all opcodes: not worth a call
                        memo[_UINT32(data, pos + 1)[0]] = self.stack[-1]
                        pos += 5
                    else:
                        pos = handlers[code](self, pos + 1)
        except _Stop:
            budget.opcodes += _CHUNK - done
        except (IndexError, struct.error) as error:
            if pos + 9 > len(data):
                raise Truncated("its pickle is cut short") from error
            raise Malformed(f"its pickle is damaged at byte {pos:,}") from error
        except KeyError as error:
            raise Malformed(f"its pickle refers to a memo entry that it lacks, at byte {pos:,}") from error
        except (TypeError, ValueError, OverflowError) as error:
            raise Malformed(f"its pickle is damaged at byte {pos:,}") from error
        if not self.stack:
            raise Malformed("its pickle is empty")
        return Decoded(self.stack[-1], self.stopped_at, tuple(self.names.values()))

    def _check_sizes(self) -> None:
        if self.containers > MAX_CONTAINERS:
            raise Malformed(f"its pickle holds more than {MAX_CONTAINERS:,} containers")
        if len(self.memo) > MAX_MEMO:
            raise Malformed(f"its pickle memorises more than {MAX_MEMO:,} objects")
        if len(self.marks) > _MAX_DEPTH_OF_MARKS:
            raise Malformed("its pickle is nested too deep")

    def need(self, pos: int, size: int) -> int:
        """End of ``size`` bytes at ``pos``, which are there."""
        end = pos + size
        if end > len(self.data):
            raise Truncated("its pickle is cut short, or claims a length that the file does not have")
        return end

    def line(self, pos: int) -> tuple[bytes, int]:
        """The text up to the next line feed, and where the next opcode begins."""
        end = self.data.find(b"\n", pos, pos + _LONG_LINE)
        if end < 0:
            if pos + _LONG_LINE > len(self.data):
                raise Truncated("its pickle is cut short")
            raise Malformed(f"its pickle has a line of more than {_LONG_LINE} bytes")
        return self.data[pos:end], end + 1

    def pop_mark(self) -> list[Node]:
        items = self.stack
        self.stack = self.marks.pop()
        return items

    def name(self, module: str, name: str) -> Global:
        known = self.names.get((module, name))
        if known is None:
            if len(module) + len(name) > _LONG_LINE or len(self.names) > 50_000:
                raise Malformed("its pickle names too many or too long classes")
            known = self.names[(module, name)] = Global(module, name)
        return known

    def call(self, maker: Node, args: Node) -> Node:
        """What a call stands for; what it copies is counted, for it can be made without end."""
        built = build(maker, args, self.nested)
        self.containers += 1
        if isinstance(built, Global):
            return self.name(built.module, built.name)
        if isinstance(built, dict):
            self.containers += len(built)
            self._check_sizes()
        elif isinstance(built, (bytes, Blob)):
            self.copied_bytes += len(built) if isinstance(built, bytes) else built.size_bytes
            if self.copied_bytes > MAX_PICKLE_BYTES:
                raise Malformed("its pickle unpacks to too many bytes")
        return built


_Handler = Callable[[_Machine, int], int]


def _stop(m: _Machine, pos: int) -> int:
    m.stopped_at = pos
    raise _Stop


def _proto(m: _Machine, pos: int) -> int:
    if m.data[pos] > 5:
        raise Malformed(f"pickle protocol {m.data[pos]} is not known")
    return pos + 1


def _skip8(m: _Machine, pos: int) -> int:
    return m.need(pos, 8)


def _nothing(m: _Machine, pos: int) -> int:
    return pos


def _mark(m: _Machine, pos: int) -> int:
    m.marks.append(m.stack)
    m.stack = []
    return pos


def _pop(m: _Machine, pos: int) -> int:
    if m.stack:
        m.stack.pop()
    else:
        m.pop_mark()
    return pos


def _pop_mark(m: _Machine, pos: int) -> int:
    m.pop_mark()
    return pos


def _dup(m: _Machine, pos: int) -> int:
    m.stack.append(m.stack[-1])
    return pos


def _constant(value: Node) -> _Handler:
    def push(m: _Machine, pos: int) -> int:
        m.stack.append(value)
        return pos

    return push


def _binint(m: _Machine, pos: int) -> int:
    m.stack.append(_INT32(m.data, pos)[0])
    return pos + 4


def _binint1(m: _Machine, pos: int) -> int:
    m.stack.append(m.data[pos])
    return pos + 1


def _binint2(m: _Machine, pos: int) -> int:
    m.stack.append(_UINT16(m.data, pos)[0])
    return pos + 2


def _push_long(m: _Machine, pos: int, size: int) -> int:
    end = m.need(pos, size)
    if size > _LONG_NUMBER:
        m.stack.append(Blob(m.view[pos:end]))
    else:
        m.stack.append(int.from_bytes(m.data[pos:end], "little", signed=True))
    return end


def _long1(m: _Machine, pos: int) -> int:
    return _push_long(m, pos + 1, m.data[pos])


def _long4(m: _Machine, pos: int) -> int:
    size = _INT32(m.data, pos)[0]
    if size < 0:
        raise Malformed("its pickle has a number of negative length")
    return _push_long(m, pos + 4, size)


def _int_text(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    if line in (b"00", b"01"):
        m.stack.append(line == b"01")
    else:
        _push_number(m, line.rstrip(b"L"))
    return end


def _push_number(m: _Machine, digits: bytes) -> None:
    if len(digits) > _LONG_NUMBER:
        m.stack.append(Blob(memoryview(digits), is_text=True))
    else:
        m.stack.append(int(digits))


def _float_text(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    m.stack.append(float(line))
    return end


def _binfloat(m: _Machine, pos: int) -> int:
    m.stack.append(_DOUBLE(m.data, pos)[0])
    return pos + 8


def _push_text(m: _Machine, pos: int, size: int) -> int:
    end = m.need(pos, size)
    if size > _LONG_TEXT:
        m.stack.append(Blob(m.view[pos:end], is_text=True))
    else:
        m.stack.append(_text(m.data[pos:end]))
    return end


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "backslashreplace")


def _short_binunicode(m: _Machine, pos: int) -> int:
    return _push_text(m, pos + 1, m.data[pos])


def _binunicode(m: _Machine, pos: int) -> int:
    return _push_text(m, pos + 4, _UINT32(m.data, pos)[0])


def _binunicode8(m: _Machine, pos: int) -> int:
    return _push_text(m, pos + 8, _UINT64(m.data, pos)[0])


def _unicode_text(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    m.stack.append(line.decode("raw-unicode-escape", "backslashreplace"))
    return end


def _string_text(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    if len(line) < 2 or line[:1] not in b"'\"" or line[-1:] != line[:1]:
        raise Malformed("its pickle has a string without quotes")
    m.stack.append(line[1:-1].decode("latin-1"))
    return end


def _push_string(m: _Machine, pos: int, size: int) -> int:
    end = m.need(pos, size)
    m.stack.append(m.data[pos:end].decode("latin-1") if size <= _LONG_TEXT else Blob(m.view[pos:end]))
    return end


def _short_binstring(m: _Machine, pos: int) -> int:
    return _push_string(m, pos + 1, m.data[pos])


def _binstring(m: _Machine, pos: int) -> int:
    size = _INT32(m.data, pos)[0]
    if size < 0:
        raise Malformed("its pickle has a string of negative length")
    return _push_string(m, pos + 4, size)


def _push_bytes(m: _Machine, pos: int, size: int) -> int:
    end = m.need(pos, size)
    m.stack.append(m.data[pos:end] if size <= _LONG_BYTES else Blob(m.view[pos:end]))
    return end


def _short_binbytes(m: _Machine, pos: int) -> int:
    return _push_bytes(m, pos + 1, m.data[pos])


def _binbytes(m: _Machine, pos: int) -> int:
    return _push_bytes(m, pos + 4, _UINT32(m.data, pos)[0])


def _binbytes8(m: _Machine, pos: int) -> int:
    return _push_bytes(m, pos + 8, _UINT64(m.data, pos)[0])


def _next_buffer(m: _Machine, pos: int) -> int:
    m.stack.append(Record(m.name("pickle", "PickleBuffer"), ()))
    return pos


def _empty_list(m: _Machine, pos: int) -> int:
    m.containers += 1
    m.stack.append([])
    return pos


def _empty_dict(m: _Machine, pos: int) -> int:
    m.containers += 1
    m.stack.append({})
    return pos


def _empty_set(m: _Machine, pos: int) -> int:
    m.containers += 1
    record = Record(m.name("builtins", "set"), ())
    record.items = []
    m.stack.append(record)
    return pos


def _frozenset(m: _Machine, pos: int) -> int:
    record = Record(m.name("builtins", "frozenset"), ())
    record.items = m.pop_mark()
    m.stack.append(record)
    return pos


def _tuple(m: _Machine, pos: int) -> int:
    items = tuple(m.pop_mark())
    m.stack.append(items)
    return pos


def _tuple1(m: _Machine, pos: int) -> int:
    stack = m.stack
    stack[-1] = (stack[-1],)
    return pos


def _tuple2(m: _Machine, pos: int) -> int:
    stack = m.stack
    last = stack.pop()
    stack[-1] = (stack[-1], last)
    return pos


def _tuple3(m: _Machine, pos: int) -> int:
    stack = m.stack
    last = stack.pop()
    middle = stack.pop()
    stack[-1] = (stack[-1], middle, last)
    return pos


def _list(m: _Machine, pos: int) -> int:
    m.containers += 1
    items = m.pop_mark()
    m.stack.append(items)
    return pos


def _dict(m: _Machine, pos: int) -> int:
    m.containers += 1
    items = m.pop_mark()
    target: dict[Node, Node] = {}
    _fill(target, items)
    m.stack.append(target)
    return pos


def _key(node: Node) -> Node:
    """The node where hashing it costs nothing and cannot be made to collide, else a wrapper."""
    kind = type(node)
    if kind is str or kind is bytes or node is None or kind is bool:
        return node
    if kind is int and -_SAFE_INT < node < _SAFE_INT:
        return node
    return Key(node)


def _fill(target: dict[Node, Node], items: list[Node]) -> None:
    if len(items) % 2:
        raise Malformed("its pickle has a key without a value")
    for index in range(0, len(items), 2):
        key = items[index]
        target[key if type(key) is str else _key(key)] = items[index + 1]


def _set_items(target: Node, items: list[Node]) -> None:
    if isinstance(target, dict):
        _fill(target, items)
    elif isinstance(target, Record):
        if target.entries is None:
            target.entries = {}
        _fill(target.entries, items)


def _setitem(m: _Machine, pos: int) -> int:
    value = m.stack.pop()
    key = m.stack.pop()
    _set_items(m.stack[-1], [key, value])
    return pos


def _setitems(m: _Machine, pos: int) -> int:
    items = m.pop_mark()
    _set_items(m.stack[-1], items)
    return pos


def _add_items(target: Node, items: list[Node]) -> None:
    if isinstance(target, list):
        target.extend(items)
    elif isinstance(target, Record):
        if target.items is None:
            target.items = []
        target.items.extend(items)


def _append(m: _Machine, pos: int) -> int:
    item = m.stack.pop()
    _add_items(m.stack[-1], [item])
    return pos


def _appends(m: _Machine, pos: int) -> int:
    items = m.pop_mark()
    _add_items(m.stack[-1], items)
    return pos


def _put_text(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    m.memo[_index(line)] = m.stack[-1]
    return end


def _index(line: bytes) -> int:
    if not line.isdigit() or len(line) > 18:
        raise Malformed("its pickle has a memo index that is no number")
    return int(line)


def _binput(m: _Machine, pos: int) -> int:
    m.memo[m.data[pos]] = m.stack[-1]
    return pos + 1


def _memoize(m: _Machine, pos: int) -> int:
    m.memo[len(m.memo)] = m.stack[-1]
    return pos


def _get_text(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    m.stack.append(m.memo[_index(line)])
    return end


def _binget(m: _Machine, pos: int) -> int:
    m.stack.append(m.memo[m.data[pos]])
    return pos + 1


def _long_binget(m: _Machine, pos: int) -> int:
    m.stack.append(m.memo[_UINT32(m.data, pos)[0]])
    return pos + 4


def _global(m: _Machine, pos: int) -> int:
    module, middle = m.line(pos)
    name, end = m.line(middle)
    m.stack.append(m.name(_text(module), _text(name)))
    return end


def _stack_global(m: _Machine, pos: int) -> int:
    name = m.stack.pop()
    module = m.stack.pop()
    if isinstance(name, str) and isinstance(module, str):
        m.stack.append(m.name(module, name))
    else:
        m.stack.append(m.name("?", "not a name"))
    return pos


def _reduce(m: _Machine, pos: int) -> int:
    args = m.stack.pop()
    m.stack[-1] = m.call(m.stack[-1], args)
    return pos


def _newobj(m: _Machine, pos: int) -> int:
    args = m.stack.pop()
    m.stack[-1] = m.call(m.stack[-1], args)
    return pos


def _newobj_ex(m: _Machine, pos: int) -> int:
    keywords = m.stack.pop()
    args = m.stack.pop()
    made = m.call(m.stack[-1], args)
    if isinstance(made, Record) and isinstance(keywords, dict):
        made.state = dict(keywords)
    m.stack[-1] = made
    return pos


def _inst(m: _Machine, pos: int) -> int:
    module, middle = m.line(pos)
    name, end = m.line(middle)
    args = tuple(m.pop_mark())
    m.stack.append(m.call(m.name(_text(module), _text(name)), args))
    return end


def _obj(m: _Machine, pos: int) -> int:
    items = m.pop_mark()
    m.stack.append(m.call(items[0], tuple(items[1:])))
    return pos


def _build(m: _Machine, pos: int) -> int:
    state = m.stack.pop()
    target = m.stack[-1]
    if isinstance(target, Record):
        if is_parameter_class(target) and isinstance(state, tuple) and state and isinstance(state[0], Tensor):
            m.stack[-1] = state[0]
        else:
            target.state = state
    elif isinstance(target, Tensor):
        target.state = state
    return pos


def _persid(m: _Machine, pos: int) -> int:
    line, end = m.line(pos)
    m.stack.append(m.persistent(_text(line)))
    return end


def _binpersid(m: _Machine, pos: int) -> int:
    m.stack[-1] = m.persistent(m.stack[-1])
    return pos


def _extension(m: _Machine, pos: int) -> int:
    raise Malformed("its pickle uses extension codes, which no checkpoint does")


def _unknown(m: _Machine, pos: int) -> int:
    raise Malformed(f"its pickle has no valid opcode at byte {pos - 1:,} ({clean(hex(m.data[pos - 1]))})")


_TABLE: dict[bytes, _Handler] = {
    b".": _stop, b"\x80": _proto, b"\x95": _skip8, b"(": _mark, b"0": _pop, b"1": _pop_mark, b"2": _dup,
    b"N": _constant(None), b"\x88": _constant(True), b"\x89": _constant(False),
    b"J": _binint, b"K": _binint1, b"M": _binint2, b"\x8a": _long1, b"\x8b": _long4,
    b"I": _int_text, b"L": _int_text, b"F": _float_text, b"G": _binfloat,
    b"\x8c": _short_binunicode, b"X": _binunicode, b"\x8d": _binunicode8, b"V": _unicode_text,
    b"S": _string_text, b"U": _short_binstring, b"T": _binstring,
    b"C": _short_binbytes, b"B": _binbytes, b"\x8e": _binbytes8, b"\x96": _binbytes8,
    b"\x97": _next_buffer, b"\x98": _nothing,
    b"]": _empty_list, b"}": _empty_dict, b")": _constant(()), b"\x8f": _empty_set, b"\x91": _frozenset,
    b"t": _tuple, b"\x85": _tuple1, b"\x86": _tuple2, b"\x87": _tuple3, b"l": _list, b"d": _dict,
    b"s": _setitem, b"u": _setitems, b"a": _append, b"e": _appends, b"\x90": _appends,
    b"p": _put_text, b"q": _binput, b"\x94": _memoize,
    b"g": _get_text, b"h": _binget, b"j": _long_binget,
    b"c": _global, b"\x93": _stack_global, b"R": _reduce, b"\x81": _newobj, b"\x92": _newobj_ex,
    b"i": _inst, b"o": _obj, b"b": _build, b"P": _persid, b"Q": _binpersid,
    b"\x82": _extension, b"\x83": _extension, b"\x84": _extension,
}  # fmt: skip

_HANDLERS: list[_Handler] = [_TABLE.get(bytes([code]), _unknown) for code in range(256)]
