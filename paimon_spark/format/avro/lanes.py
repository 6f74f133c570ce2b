"""Avro records as columns: many blocks of many files are decoded in lock-step by numpy, one lane for each block.

One step decodes the same field of the next record of every lane. Integers become arrays; texts, bytes and arrays become
spans: where their bytes lie in one buffer. ``avro.file`` is the reference, and decodes the schemas with constructs that
are not covered here. Avro has no checksums. The checks are that lengths stay within a block, that branches of unions
exist, and that each block ends where its last record ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from io import SEEK_END, BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from paimon_spark.format.avro.container import BlockError, Container, read_varint

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
MAX_ITEM_TURNS = 2**18
"""Items one after the other, each of which takes 20 microseconds; a block of 64 kB, as writers make them, has fewer."""
_MOST_TOGETHER = 2**14
"""Blocks that are decoded together: of more, what a step looks at does not fit into the cache of a processor."""
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
    files: Iterable[Container], wanted: Mapping[Path, Kind], most_together: int = _MOST_TOGETHER
) -> Decoded:
    """The wanted columns of all records of the files, one after the other.

    Args:
        files: containers; their schemas may differ. Each is taken when those before it are decoded, so that the blocks
            of a generator's files are not in memory together.
        wanted: paths of record fields from the top, each with the kind expected there. A path that a schema lacks is
            null.
        most_together: the most blocks that are decoded together.

    Raises:
        UncoveredSchema: a schema has constructs, or kinds at the wanted paths, that are not covered.
        LaneError: the bytes of a block do not follow their schema.
    """
    parts, count, turns, buffer = list[_Part](), 0, _ItemTurns(), BytesIO()
    for some in _in_parts(files, most_together):
        try:
            decoded = _decode_together(some, wanted, turns)
        except LaneError as error:
            raise LaneError(str(error), count + error.record) from None
        parts.append(_Part(decoded.count, dict(decoded.columns), buffer.tell()))
        count += decoded.count
        if len(parts) == 1:
            buffer = BytesIO(decoded.buffer)  # which is not copied, if it stays the only one
            buffer.seek(0, SEEK_END)
        else:
            buffer.write(decoded.buffer)
        del decoded, some
    return _joined(parts, buffer.getvalue(), wanted) if parts else _decode_together([], wanted, turns)


def _in_parts(files: Iterable[Container], most: int) -> Iterator[list[Container]]:
    """The files in parts of so many blocks that what each step looks at fits into the cache of the processor."""
    part, count = list[Container](), 0
    for file in files:
        for start in range(0, len(file.blocks), most):
            blocks = file.blocks[start : start + most]
            if count + len(blocks) > most:
                yield part
                part, count = [], 0
            part.append(Container(file.schema, blocks))
            count += len(blocks)
    if part:
        yield part


@dataclass(frozen=True)
class _Part:
    """Records that were decoded together, and where their buffer begins in that of all."""

    count: int
    columns: dict[Path, Column]
    begin: int


def _joined(parts: Sequence[_Part], buffer: bytes, wanted: Mapping[Path, Kind]) -> Decoded:
    """The records of all parts. Their columns are taken out of them, so that not all are in memory twice."""
    total, columns = sum(part.count for part in parts), dict[Path, Column]()
    if len(parts) == 1:
        return Decoded(buffer, total, parts[0].columns)
    kind: Any = np.int32 if len(buffer) < 2**31 else np.int64  # half the memory
    masks: dict[tuple[int, ...], tuple[Bools, list[Bools]]] = {}  # by the id()s of those of the parts, which live on

    def moved(spans: Sequence[Ints], valid: Bools) -> Any:
        begun = [ints.astype(kind) + kind(part.begin) for ints, part in zip(spans, parts, strict=True)]
        whole = np.concatenate(begun)
        return whole if valid.all() else whole * valid  # those of nulls stay 0

    for path in dict.fromkeys(path for part in parts for path in part.columns):
        pieces = [part.columns.pop(path) if path in part.columns else absent_column(part.count) for part in parts]
        valids = [piece.valid for piece in pieces]
        ids = tuple(map(id, valids))
        if ids not in masks:
            masks[ids] = np.concatenate(valids), valids
        valid = masks[ids][0]
        if wanted[path] is Kind.INTEGER:
            values = np.concatenate([piece.values for piece in pieces])
            columns[path] = Column(values, values, valid)
        else:
            values = moved([piece.values for piece in pieces], valid)
            columns[path] = Column(values, moved([piece.ends for piece in pieces], valid), valid)
    return Decoded(buffer, total, columns)


@dataclass
class _ItemTurns:
    """The items one after the other that were decoded so far, of which all files together may have MAX_ITEM_TURNS."""

    count: int = 0


def _decode_together(files: Sequence[Container], wanted: Mapping[Path, Kind], turns: _ItemTurns) -> Decoded:
    """As decode_lanes, all blocks at once."""
    blocks = [block for file in files for block in file.blocks]
    counts = np.array([count for count, _ in blocks], np.int64)
    sizes = np.array([len(raw) for _, raw in blocks], np.int64)
    starts, firsts = np.cumsum(sizes) - sizes, np.cumsum(counts) - counts
    buffer = b"".join([*(raw for _, raw in blocks), _PADDING])
    total = int(counts.sum())
    columns: dict[Path, Column] = {}
    for schema, group in _lanes_by_schema(files):
        plan = plan_steps(schema, wanted)
        lanes = group[np.argsort(-counts[group], kind="stable")]
        run = _Run(buffer, starts[lanes], (starts + sizes)[lanes], counts[lanes], firsts[lanes], turns)
        run.decode(plan)
        order, valid = np.empty(total, np.int64), np.ones(total, np.bool_)
        if len(lanes) == len(blocks):
            order[run.all_records] = np.arange(total)
        for path, kept in run.kept.items():
            records = run.records_of(kept)
            if len(lanes) == len(blocks) and records is run.all_records:
                columns[path] = _whole(kept, order, valid)
            else:
                columns[path] = _merge(columns.get(path), kept, records, total)
    return Decoded(buffer, total, columns)


def _lanes_by_schema(files: Sequence[Container]) -> Iterable[tuple[Any, Ints]]:
    groups: dict[str, tuple[Any, list[int]]] = {}
    lane = 0
    for file in files:
        group = groups.setdefault(json.dumps(file.schema, sort_keys=True), (file.schema, []))
        group[1].extend(range(lane, lane + len(file.blocks)))
        lane += len(file.blocks)
    return ((schema, np.array(lanes, np.int64)) for schema, lanes in groups.values() if lanes)


@dataclass
class _Kept:
    """The pieces of one column: the records they belong to, values, and ends of spans."""

    records: list[Ints] = field(default_factory=list)
    values: list[Ints] = field(default_factory=list)
    ends: list[Ints] = field(default_factory=list)


def _merge(before: Column | None, kept: _Kept, records: Ints, total: int) -> Column:
    """The pieces in their places; before holds the pieces of lanes with other schemas."""
    if before is None:
        values = np.zeros(total, np.int64)
        before = Column(values, np.zeros(total, np.int64) if kept.ends else values, np.zeros(total, np.bool_))
    before.values[records] = np.concatenate(kept.values)
    if kept.ends:
        before.ends[records] = np.concatenate(kept.ends)
    before.valid[records] = True
    return before


def _whole(kept: _Kept, order: Ints, valid: Bools) -> Column:
    """The column of a field that all records have.

    Args:
        order: for each record, which of the values is its own.
        valid: True for each record; all such columns share it.
    """
    values = np.concatenate(kept.values)
    if not kept.ends:
        whole = values.take(order)
        return Column(whole, whole, valid)
    ends = np.concatenate(kept.ends)
    kind: Any = np.int32 if ends.max(initial=0) < 2**31 else np.int64  # half the memory
    return Column(values.astype(kind).take(order), ends.astype(kind).take(order), valid)


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
                self.check((lengths >= 0) & (lengths <= ends - begin), records, "a text runs over the end of its block")
                at = begin + lengths
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
