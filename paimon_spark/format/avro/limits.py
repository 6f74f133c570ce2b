"""Limits of the memory that decoded Avro files take: a hostile file brings its own schema and its own counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from paimon_spark import limits

_MAX_DEPTH = 200
_MAX_NODES = 1_000_000
_PRIMITIVES = {  # least encoded bytes, and bytes as a Python object in a container
    "null": (0, 16), "boolean": (1, 16), "int": (1, 40), "long": (1, 40), "float": (4, 32), "double": (8, 32),
    "bytes": (1, 64), "string": (1, 64),
}  # fmt: skip
_RECORD, _FIELD, _ITEM = 240, 100, 8
_TEXT_RATIO = 4  # of a text: one character of 4 bytes makes all of them so wide


class LimitError(ValueError):
    """A file asks for more than a genuine one has; the reader that knows its name turns this into CorruptFile."""


@dataclass
class Budget:
    """The memory left to files that are decoded together; a hostile file fails before it fills the memory.

    Attributes:
        stored: bytes of the files as they are stored.
    """

    stored: int
    _unpacked: int = 0
    _records: int = 0
    _blocks: int = 0

    def announce(self, counts: Iterable[int]) -> None:
        """Takes the announced numbers of records of a file's blocks from the budget, before any block is unpacked.

        Raises:
            LimitError: there are too many blocks or records, or a number is negative.
        """
        for count in counts:
            if count < 0:
                raise LimitError(f"a block announces {count} records")
            self._blocks += 1
            self._records += count
        most = max(limits.MAX_BLOCKS, self.stored // limits.LEAST_BLOCK_BYTES)
        if self._blocks > most:
            raise LimitError(f"there are more than {most} blocks; {limits.ADVICE}")
        most = max(limits.MAX_RECORDS, self.stored // limits.LEAST_RECORD_BYTES)
        if self._records > most:
            raise LimitError(f"{self._records} records are announced, more than {most}; {limits.ADVICE}")

    @cached_property
    def most_unpacked(self) -> int:
        """The bytes that files of this stored size may unpack to."""
        return max(limits.MAX_UNPACKED_BYTES, self.stored * limits.MAX_RATIO)

    def unpack(self, size: int) -> None:
        """Takes size decompressed bytes of a block from the budget.

        Raises:
            LimitError: the blocks so far unpack to more than files of this stored size may.
        """
        self._unpacked += size
        if self._unpacked > self.most_unpacked:
            raise LimitError(f"{self.stored} stored bytes unpack to more than {self.most_unpacked}; {limits.ADVICE}")


class _Size(NamedTuple):
    """The fewest bytes that one value is encoded in, and its bytes in memory then."""

    encoded: int
    memory: int


def checked_growth(schema: Any) -> int:
    """The most bytes of Python objects that one encoded byte of records of a schema can become.

    Raises:
        LimitError: there is no bound (arrays or maps whose items take no bytes, types that hold themselves), or the
            schema is too deep, too large or not valid.
    """
    measure = _Measure()
    try:
        record = measure.of(schema, 0)
    except LimitError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError):
        raise LimitError("its schema is not valid") from None
    return max(_TEXT_RATIO, record.memory // max(record.encoded, 1), *measure.growths)


@dataclass
class _Measure:
    growths: list[int] = field(default_factory=list)
    known: dict[str, _Size] = field(default_factory=dict)
    open_names: set[str] = field(default_factory=set)
    nodes: int = 0

    def of(self, schema: Any, depth: int) -> _Size:
        self.nodes += 1
        if depth > _MAX_DEPTH or self.nodes > _MAX_NODES:
            raise LimitError(f"its schema is deeper than {_MAX_DEPTH} levels, or has more than {_MAX_NODES} parts")
        if isinstance(schema, list):
            branches = [self.of(branch, depth + 1) for branch in schema]
            worst = max(branches, key=lambda size: size.memory / (size.encoded + 1))
            return _Size(worst.encoded + 1, worst.memory)
        if isinstance(schema, str):
            return self._named(schema)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema, depth)
        if kind == "array":
            return self._items(self.of(schema["items"], depth + 1))
        if kind == "map":
            value = self.of(schema["values"], depth + 1)
            return self._items(_Size(value.encoded + 1, value.memory + _FIELD + _PRIMITIVES["string"][1]))
        if kind in ("enum", "fixed"):
            size = int(schema.get("size", 1)) if kind == "fixed" else 1
            if not 0 <= size < 2**31:
                raise LimitError(f"a fixed type of its schema has {size} bytes")
            return self._remember(schema, _Size(size, size + _PRIMITIVES["bytes"][1]))
        return self.of(kind, depth + 1)

    def _named(self, name: str) -> _Size:
        if name in _PRIMITIVES:
            return _Size(*_PRIMITIVES[name])
        if name in self.open_names:
            raise LimitError(f"the type '{name:.100}' of its schema holds itself")
        if name not in self.known:
            raise LimitError(f"its schema names a type '{name:.100}' that it does not define")
        return self.known[name]

    def _record(self, schema: dict[str, Any], depth: int) -> _Size:
        names = _full_names(schema)
        self.open_names.update(names)
        fields = [self.of(entry["type"], depth + 1) for entry in schema["fields"]]
        self.open_names.difference_update(names)
        encoded = sum(size.encoded for size in fields)
        return self._remember(schema, _Size(encoded, _RECORD + sum(_FIELD + size.memory for size in fields)))

    def _remember(self, schema: dict[str, Any], size: _Size) -> _Size:
        self.known.update(dict.fromkeys(_full_names(schema), size))
        return size

    def _items(self, item: _Size) -> _Size:
        if not item.encoded:
            raise LimitError("an array of its schema has items that take no bytes")
        self.growths.append((item.memory + _ITEM) // item.encoded)
        return _Size(1, 64)


def _full_names(schema: dict[str, Any]) -> tuple[str, ...]:
    name = schema["name"]
    if not isinstance(name, str):
        raise TypeError
    return name, f"{schema.get('namespace')}.{name}"


def count_items(value: Any) -> int:
    """The items of all arrays and maps in a decoded value."""
    if isinstance(value, dict):
        return sum(map(count_items, value.values()))
    return len(value) + sum(map(count_items, value)) if isinstance(value, list) else 0
