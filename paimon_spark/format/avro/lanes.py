"""Avro records as columns: many blocks of many files are decoded in lock-step by numpy, one lane for each block.

One step decodes the same field of the next record of every lane. Integers become arrays; texts, bytes and arrays become
spans: where their bytes lie in one buffer. ``avro.file`` is the reference, and decodes the schemas with constructs that
are not covered here. Avro has no checksums. The checks are that lengths stay within a block, that branches of unions
exist, and that each block ends where its last record ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_spark.format.avro.container import BlockError, Container, read_varint

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
MAX_ITEM_TURNS = 2**18
"""Items one after the other, each of which takes 20 microseconds; a block of 64 kB, as writers make them, has fewer."""
_MOST_TOGETHER = 2**12
"""Blocks that are decoded together: of more, what a step looks at does not fit into the cache of a processor."""
_MOST_BYTES = np.uint64(2**40)  # of a text; the sum with the place where it begins does not overflow
_ITEM_WORDS = 128  # of null counts looked at in one go
_PADDING = bytes(8 * _ITEM_WORDS + 8)  # words are read past the last block
_ZIGZAG = np.array([(b >> 1) ^ -(b & 1) for b in range(128)], np.int64)
_ONE = np.uint64(1)
_EACH_BYTE = np.uint64(0x0101010101010101)
_STOP_BITS = np.uint64(0x8080808080808080)
_COUNT_BITS = np.uint64(
    0x80FF80FF80FF80FF
)  # of [branch, one-byte integer] pairs: the branch, and the sign of more bytes
_COUNT_PATTERN = np.uint64(0x0002000200020002)
Path = tuple[str, ...]
_SIZES = {"boolean": 1, "float": 4, "double": 8}


class LaneError(BlockError):
    """The bytes of a block do not follow their schema, in the record of this number, counted over all files."""

    def __init__(self, message: str, record: int) -> None:
        super().__init__(message)
        self.record = record


@dataclass(frozen=True)
class Column:
    """One field of all records, in file order.

    Attributes:
        values: the integers, or the positions where the spans begin.
        ends: the positions where the spans end; for integers, values again.
        valid: False where the record has a null; there the other two are 0.
    """

    values: Ints
    ends: Ints
    valid: Bools


def absent_column(count: int) -> Column:
    """A column of nulls."""
    return Column(np.zeros(count, np.int64), np.zeros(count, np.int64), np.zeros(count, np.bool_))


@dataclass(frozen=True)
class Decoded:
    """The wanted columns that the writers' schemas have, and the buffer that spans point into."""

    buffer: bytes
    count: int
    columns: Mapping[Path, Column]


def decode_lanes(
    files: Iterable[Container],
    wanted: Mapping[Path, Kind],
    most_together: int = _MOST_TOGETHER,
) -> Decoded:
    """The wanted columns of all records of the files, one after the other.

    Args:
        files: containers; their schemas may differ. Each block is taken once, and not kept.
        wanted: paths of record fields from the top, each with the kind expected there. A path that a schema lacks is
            null.
        most_together: the most blocks that are decoded together.

    Raises:
        UncoveredSchema: a schema has constructs, or kinds at the wanted paths, that are not covered.
        LaneError: the bytes of a block do not follow their schema.
    """
    decoding, buffer = _Decoding(wanted), BytesIO()
    for file in files:
        schema = decoding.number_of(file.schema)
        for count, raw in file.blocks:
            buffer.write(raw)
            decoding.counts.append(count)
            decoding.sizes.append(len(raw))
            decoding.schemas.append(schema)
    buffer.write(_PADDING)
    return decoding.ended(buffer.getvalue(), most_together)


class _Decoding:
    """The columns of the blocks that are decoded, and what is known of those that wait for it.

    Attributes:
        counts, sizes, schemas: of each block that waits the number of records, the bytes, and the number of the schema.
    """

    def __init__(self, wanted: Mapping[Path, Kind]) -> None:
        self._wanted = wanted
        self.counts, self.sizes, self.schemas = list[int](), list[int](), list[int]()
        self._numbers: dict[str, int] = {}  # of schemas, by their text
        self._plans: list[tuple[Step, ...]] = []  # by number of the schema
        self._end = self._records = 0  # of the blocks that are decoded: where the last one ends, and their records
        self._turns = _ItemTurns()
        self._columns: dict[Path, _Growing] = {}

    def number_of(self, schema: Any) -> int:
        """The number of a schema, the same for an equal one."""
        number = self._numbers.setdefault(json.dumps(schema, sort_keys=True), len(self._plans))
        if number == len(self._plans):
            self._plans.append(plan_steps(schema, self._wanted))
        return number

    def run(self, buffer: bytes, most: int, total: int) -> None:
        """Decodes the next blocks, at most so many; total: the number of all records."""
        counts, sizes, schemas = (np.array(a[:most], np.int64) for a in (self.counts, self.sizes, self.schemas))
        for waiting in (self.counts, self.sizes, self.schemas):
            del waiting[:most]
        ends, firsts = self._end + np.cumsum(sizes), self._records + np.cumsum(counts) - counts
        mine = slice(self._records, self._records + int(counts.sum()))
        self._end, self._records = int(ends[-1]), mine.stop
        span_kind = np.int32 if len(buffer) < 2**31 else np.int64  # half the memory
        for number in np.unique(schemas).tolist():
            lanes = np.flatnonzero(schemas == number)
            lanes = lanes[np.argsort(-counts[lanes], kind="stable")]
            run = _Run(buffer, (ends - sizes)[lanes], ends[lanes], counts[lanes], firsts[lanes], self._turns)
            run.decode(self._plans[number])
            order = run.order(mine) if len(lanes) == len(counts) else None
            for path, kept in run.kept.items():
                column = self._columns.setdefault(path, _Growing(total, span_kind))
                records = run.records_of(kept)
                if order is not None and records is run.all_records:
                    column.add(kept, mine, order)
                else:
                    column.add(kept, records, None)

    def ended(self, buffer: bytes, most: int) -> Decoded:
        """The columns, when the blocks that wait are decoded too."""
        total = self._records + sum(self.counts)
        while self.counts:
            self.run(buffer, most, total)
        every = np.ones(total, np.bool_)
        return Decoded(buffer, total, {path: column.whole(every) for path, column in self._columns.items()})


@dataclass
class _ItemTurns:
    """The items one after the other that were decoded so far, of which all files together may have MAX_ITEM_TURNS."""

    count: int = 0


@dataclass
class _Kept:
    """The pieces of one column: the records they belong to, values, and ends of spans."""

    records: list[Ints] = field(default_factory=list)
    values: list[Ints] = field(default_factory=list)
    ends: list[Ints] = field(default_factory=list)


class _Growing:
    """One column of all records, into which the pieces of each run are put in their places."""

    def __init__(self, total: int, span_kind: Any) -> None:
        self._total, self._span_kind = total, span_kind
        self._values: Ints | None = None
        self._ends: Ints | None = None
        self._present: list[Ints | slice] = []
        self._count = 0

    def add(self, kept: _Kept, records: Ints | slice, order: Ints | None) -> None:
        """Puts the pieces of a run in their places.

        Args:
            kept: the pieces.
            records: the numbers of their records.
            order: for each of the records, which of the values is its own; None: they come as the records do.
        """
        self._present.append(records)
        self._count += sum(map(len, kept.values))
        kind = self._span_kind if kept.ends else np.int64
        self._values = self._put(self._values, kept.values, records, order, kind)
        if kept.ends:
            self._ends = self._put(self._ends, kept.ends, records, order, kind)

    def _put(
        self, whole: Ints | None, pieces: Sequence[Ints], records: Ints | slice, order: Ints | None, kind: Any
    ) -> Ints:
        if whole is None:
            whole = np.zeros(self._total, kind)
        values = np.concatenate(pieces).astype(kind, copy=False)
        whole[records] = values if order is None else values.take(order)
        return whole

    def whole(self, every: Bools) -> Column:
        """The column; every is True for each record, and shared by all columns without nulls."""
        values = np.zeros(self._total, np.int64) if self._values is None else self._values
        valid = every
        if self._count < self._total:
            valid = np.zeros(self._total, np.bool_)
            for records in self._present:
                valid[records] = True
        return Column(values, values if self._ends is None else self._ends, valid)


class _Run:
    """Lanes of one schema, ordered by falling number of records, so that the unfinished ones are always the first."""

    def __init__(
        self, buffer: bytes, starts: Ints, ends: Ints, counts: Ints, firsts: Ints, item_turns: _ItemTurns
    ) -> None:
        self.buffer = buffer
        self.octets = np.frombuffer(buffer, np.uint8)
        self.words = np.ndarray((len(buffer) - 7,), "<u8", buffer=buffer, strides=(1,))
        self.starts, self.ends, self.counts, self.firsts = starts, ends, counts, firsts
        self.kept: dict[Path, _Kept] = {}
        self.turns: list[Ints] = []  # the records that were decoded together
        self.item_turns = item_turns

    def decode(self, plan: Sequence[Step]) -> None:
        """Decode record after record of all lanes."""
        at, ends, records = self.starts, self.ends, self.firsts
        for turn in range(int(self.counts[0])):
            active = int(np.searchsorted(-self.counts, -turn, side="left"))
            if active < len(at):
                self.check(at[active:] == ends[active:], records[active:] - 1, "a block goes on after its last record")
                at, ends, records = at[:active], ends[:active], records[:active]
            self.turns.append(records)
            at = self.values(plan, at, ends, records)
            self.check(at <= ends, records, "a record runs over the end of its block")
            records = records + 1
        self.check(at == ends, records - 1, "a block goes on after its last record")

    def check(self, good: Bools, records: Ints, message: str) -> None:
        if np.count_nonzero(good) < len(good):
            raise LaneError(message, int(records[np.argmin(good)]))

    def keep(self, path: Path, records: Ints, values: Ints, ends: Ints | None = None) -> None:
        kept = self.kept.setdefault(path, _Kept())
        kept.records.append(records)
        kept.values.append(values)
        if ends is not None:
            kept.ends.append(ends)

    @cached_property
    def all_records(self) -> Ints:
        return np.concatenate(self.turns)

    def order(self, mine: slice) -> Ints:
        """Where each of the records, which are all of these, is among ``all_records``."""
        order = np.empty(mine.stop - mine.start, np.int64)
        order[self.all_records - mine.start] = np.arange(len(order))
        return order

    def records_of(self, kept: _Kept) -> Ints:
        """The records of the pieces of a column; the same array for all columns without nulls."""
        if list(map(id, kept.records)) == list(map(id, self.turns)):
            return self.all_records
        return np.concatenate(kept.records)

    def values(self, plan: Sequence[Step], at: Ints, ends: Ints, records: Ints) -> Ints:
        """Decode one value of each lane at its position; the positions behind them."""
        for step in plan:
            if type(step) is IntegerStep:
                values, at = self.integers(at, records)
                if step.path is not None:
                    self.keep(step.path, records, values)
            elif type(step) is BytesStep:
                lengths, begin = self.integers(at, records)
                at = begin + lengths
                if np.count_nonzero((lengths.view(np.uint64) > _MOST_BYTES) | (at > ends)):
                    good = (lengths >= 0) & (lengths <= ends - begin)
                    self.check(good, records, "a text runs over the end of its block")
                if step.path is not None:
                    self.keep(step.path, records, begin, at)
            elif type(step) is UnionStep:
                at = self.union(step, at, ends, records)
            elif type(step) is ArrayStep:
                begin, at = at, self.array(step, at, ends, records)
                if step.path is not None:
                    self.keep(step.path, records, begin, at)
            elif type(step) is FixedStep:
                at = at + step.size
        return at

    def integers(self, at: Ints, records: Ints) -> tuple[Ints, Ints]:
        """Decode one zigzag integer of each lane; the values, and the positions behind them."""
        first = self.octets.take(at, mode="clip")
        if np.maximum.reduce(first) < 128:
            return _ZIGZAG.take(first), at + 1
        word = self.words[np.minimum(at, len(self.words) - 1)]
        stop = ~word & _STOP_BITS
        below = (stop & (~stop + _ONE)) - _ONE  # the bits below the highest bit of the last byte
        word &= below & ~_STOP_BITS
        sizes = ((below & _EACH_BYTE) * _EACH_BYTE >> np.uint64(56)).view(np.int64)
        longest = np.maximum.reduce(sizes)
        word = (word & np.uint64(0x007F007F007F007F)) | ((word & np.uint64(0x7F007F007F007F00)) >> _ONE)
        if longest > 2:
            word = (word & np.uint64(0x00003FFF00003FFF)) | ((word & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2))
        if longest > 4:
            word = (word & np.uint64(0x000000000FFFFFFF)) | ((word & np.uint64(0x0FFFFFFF00000000)) >> np.uint64(4))
        behind = at + sizes
        values = (word >> _ONE).view(np.int64) ^ -(word & _ONE).view(np.int64)
        if np.count_nonzero(stop) < len(stop):
            self.long_integers((stop == 0).nonzero()[0], at, records, values, behind)
        return values, behind

    def long_integers(self, lanes: Ints, at: Ints, records: Ints, values: Ints, behind: Ints) -> None:
        """Integers of 9 and 10 bytes, such as Long.MIN_VALUE, one by one."""
        for i in lanes.tolist():
            try:
                values[i], behind[i] = read_varint(self.buffer, int(at[i]))
            except (BlockError, OverflowError):
                raise LaneError("an integer is longer than 64 bits", int(records[i])) from None

    def union(self, step: UnionStep, at: Ints, ends: Ints, records: Ints) -> Ints:
        branches, at = self.integers(at, records)
        self.check(branches | 1 == 1, records, "a union has no such branch")
        present = (branches != step.null_branch).nonzero()[0]
        if len(present) == len(at):
            return self.values(step.body, at, ends, records)
        if len(present):
            at[present] = self.values(step.body, at[present], ends[present], records[present])
        return at

    def array(self, step: ArrayStep, at: Ints, ends: Ints, records: Ints) -> Ints:
        """Pass over one array of each lane."""
        counts, at = self.integers(at, records)
        while np.count_nonzero(counts):
            sized = (counts < 0).nonzero()[0]  # a negative count comes with the number of bytes
            if len(sized):
                at[sized] = self.integers(at[sized], records[sized])[1]
                counts = np.abs(counts)
            self.check((counts >= 0) & (counts <= ends - at), records, "an array runs over the end of its block")
            at = self.items(step, counts, at, ends, records)
            more = counts.nonzero()[0]
            counts = np.zeros_like(counts)
            counts[more], at[more] = self.integers(at[more], records[more])
        return at

    def items(self, step: ArrayStep, counts: Ints, at: Ints, ends: Ints, records: Ints) -> Ints:
        """Pass over the items of one block of each lane's array."""
        left = counts.copy()
        while True:
            self.item_turns.count += 1
            if self.item_turns.count > MAX_ITEM_TURNS:
                raise LaneError(f"an array has more than {MAX_ITEM_TURNS} items", int(records[np.argmax(left)]))
            if step.kind is Kind.COUNTS:
                small = self.small_counts(left, at)
                left -= small
                at = at + 2 * small
            self.check(at <= ends, records, "an array runs over the end of its block")
            active = left.nonzero()[0]
            if not len(active):
                return at
            if len(active) == len(at):
                at = self.values(step.items, at, ends, records)
                left -= 1
                continue
            at[active] = self.values(step.items, at[active], ends[active], records[active])
            left[active] -= 1

    def small_counts(self, left: Ints, at: Ints) -> Ints:
        """How many of the items next in each lane are integers of one byte, not null: those need no decoding."""
        width = min((int(np.maximum.reduce(left)) + 3) // 4, _ITEM_WORDS)
        words = self.words[at[:, None] + np.arange(0, 8 * width, 8)]
        words &= _COUNT_BITS
        words ^= _COUNT_PATTERN
        other = np.ones((len(at), 4 * width + 1), np.bool_)
        other[:, :-1] = words.view(np.uint16)
        small: Ints = np.minimum(other.argmax(axis=1), left)
        return small


class Kind(Enum):
    """What a column holds. Arrays are kept as their encoded bytes."""

    INTEGER = "an integer"
    BYTES = "the bytes of a text or binary value"
    TEXTS = "an array of texts"
    INTEGERS = "an array of integers"
    COUNTS = "an array of integers and nulls, null being the first branch"
    OTHERS = "any other array"


class UncoveredSchema(Exception):
    """The schema has a construct that lanes do not decode. Readers catch it and decode record by record instead."""


@dataclass(frozen=True)
class IntegerStep:
    path: Path | None


@dataclass(frozen=True)
class BytesStep:
    path: Path | None


@dataclass(frozen=True)
class FixedStep:
    size: int


@dataclass(frozen=True)
class UnionStep:
    null_branch: int
    body: tuple[Step, ...]


@dataclass(frozen=True)
class ArrayStep:
    path: Path | None
    items: tuple[Step, ...]
    kind: Kind


Step = IntegerStep | BytesStep | FixedStep | UnionStep | ArrayStep


def plan_steps(schema: Any, wanted: Mapping[Path, Kind]) -> tuple[Step, ...]:
    """The steps that decode one value of the schema. Steps of wanted paths carry the path, the others None.

    Raises:
        UncoveredSchema: a construct that lanes do not decode, another kind at a wanted path, or not a schema.
    """
    try:
        return _Planner(wanted).steps(schema, ())
    except (KeyError, TypeError, RecursionError):
        raise UncoveredSchema from None


@dataclass
class _Planner:
    wanted: Mapping[Path, Kind]
    named: dict[str, Any] = field(default_factory=dict)
    open_names: set[str] = field(default_factory=set)

    def steps(self, schema: Any, path: Path | None) -> tuple[Step, ...]:
        """path is None inside arrays, where nothing is kept."""
        if isinstance(schema, list):
            others = [branch for branch in schema if branch != "null"]
            if len(schema) != 2 or len(others) != 1:
                raise UncoveredSchema
            return (UnionStep(schema.index("null"), self.steps(others[0], path)),)
        if isinstance(schema, dict):
            return self.complex_steps(schema, path)
        if schema in ("int", "long"):
            return (IntegerStep(self.kept(path, Kind.INTEGER)),)
        if schema in ("bytes", "string"):
            return (BytesStep(self.kept(path, Kind.BYTES)),)
        if schema in _SIZES:
            return (FixedStep(_SIZES[schema]),)
        if schema in self.named and schema not in self.open_names:
            return self.steps(self.named[schema], path)
        raise UncoveredSchema

    def kept(self, path: Path | None, kind: Kind) -> Path | None:
        if path is None or path not in self.wanted:
            return None
        if self.wanted[path] is not kind:
            raise UncoveredSchema
        return path

    def complex_steps(self, schema: dict[str, Any], path: Path | None) -> tuple[Step, ...]:
        kind = schema["type"]
        if kind == "record":
            return self.record_steps(schema, path)
        if kind == "array":
            items = self.steps(schema["items"], None)
            if not items:
                raise UncoveredSchema  # items without bytes: their number is not bounded by the block
            array = _array_kind(schema["items"])
            return (ArrayStep(self.kept(path, array), items, array),)
        if kind in ("enum", "fixed", "map"):
            raise UncoveredSchema
        return self.steps(kind, path)

    def record_steps(self, schema: dict[str, Any], path: Path | None) -> tuple[Step, ...]:
        name = schema["name"]
        self.named[name] = self.named[f"{schema.get('namespace')}.{name}"] = schema
        self.open_names.add(name)
        steps: list[Step] = []
        for entry in schema["fields"]:
            steps += self.steps(entry["type"], None if path is None else (*path, entry["name"]))
        self.open_names.discard(name)
        return tuple(steps)


def _array_kind(items: Any) -> Kind:
    plain = items["type"] if isinstance(items, dict) else items
    if plain == "string":
        return Kind.TEXTS
    if plain in ("int", "long"):
        return Kind.INTEGERS
    return Kind.COUNTS if plain in (["null", "int"], ["null", "long"]) else Kind.OTHERS
