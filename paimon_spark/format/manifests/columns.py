"""Many manifests at once as columns: planning looks at columns, and makes entries only of the rows it chose.

The entries equal those of ``codec.decode_manifest``, which also reads the files that ``avro.lanes`` does not cover.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, repeat
from typing import Any, NamedTuple, TypeVar

import numpy as np

from paimon_spark.errors import CorruptFile, UnsupportedFeature
from paimon_spark.format.avro.container import (
    Container,
    PackedContainer,
    read_container,
    read_varint,
    scan_container,
    unpacked_blocks,
    varint,
)
from paimon_spark.format.avro.lanes import (
    Bools,
    Column,
    Ints,
    Kind,
    LaneError,
    Path,
    UncoveredSchema,
    absent_column,
    decode_lanes,
    plan_steps,
)
from paimon_spark.format.avro.limits import Budget
from paimon_spark.format.manifest import EMPTY_ROW, EMPTY_STATS, DataFileMeta, ManifestEntry, SimpleStats
from paimon_spark.format.manifests.codec import (
    COUNT,
    INT32,
    KINDS,
    MANIFEST_VERSION,
    SOURCES,
    decode_manifest,
    encode_manifest,
    entry_record,
)
from paimon_spark.format.names import NOT_IN_NAMES, are_names, checked_external_path, checked_name

T = TypeVar("T", bound=NamedTuple)

_MOST_TURNS = 2**14
"""Records of a block: lanes take a turn, and some kB, for each. Writers put some hundred into one."""
_WORD, _MOST_COMPARED = 8, 512
"""Bytes: of a word, and of partition rows that are compared word by word."""
_MARKS = [mark.encode() for mark in NOT_IN_NAMES]
_MOST_LENGTHS = 32  # of names that are looked at together
_INTEGER, _BYTES = Kind.INTEGER, Kind.BYTES
_VERSION: Path = ("_VERSION",)
_PARTITION: Path = ("_PARTITION",)
_FILE: dict[str, tuple[Path, Kind]] = {  # by attribute of DataFileMeta
    "file_name": (("_FILE", "_FILE_NAME"), _BYTES),
    "file_size": (("_FILE", "_FILE_SIZE"), _INTEGER),
    "row_count": (("_FILE", "_ROW_COUNT"), _INTEGER),
    "min_key": (("_FILE", "_MIN_KEY"), _BYTES),
    "max_key": (("_FILE", "_MAX_KEY"), _BYTES),
    "min_sequence_number": (("_FILE", "_MIN_SEQUENCE_NUMBER"), _INTEGER),
    "max_sequence_number": (("_FILE", "_MAX_SEQUENCE_NUMBER"), _INTEGER),
    "schema_id": (("_FILE", "_SCHEMA_ID"), _INTEGER),
    "level": (("_FILE", "_LEVEL"), _INTEGER),
    "extra_files": (("_FILE", "_EXTRA_FILES"), Kind.TEXTS),
    "creation_time": (("_FILE", "_CREATION_TIME"), _INTEGER),
    "delete_row_count": (("_FILE", "_DELETE_ROW_COUNT"), _INTEGER),
    "embedded_index": (("_FILE", "_EMBEDDED_FILE_INDEX"), _BYTES),
    "file_source": (("_FILE", "_FILE_SOURCE"), _INTEGER),
    "value_stats_cols": (("_FILE", "_VALUE_STATS_COLS"), Kind.TEXTS),
    "external_path": (("_FILE", "_EXTERNAL_PATH"), _BYTES),
    "first_row_id": (("_FILE", "_FIRST_ROW_ID"), _INTEGER),
    "write_cols": (("_FILE", "_WRITE_COLS"), Kind.TEXTS),
    "write_cols_sequences": (("_FILE", "_WRITE_COLS_SEQUENCES"), Kind.INTEGERS),
}
_TEXT = frozenset({"_FILE_NAME", "_EXTERNAL_PATH"})
_NAME, _EXTRAS = _FILE["file_name"][0], _FILE["extra_files"][0]
_STATS = {"key_stats": ("_FILE", "_KEY_STATS"), "value_stats": ("_FILE", "_VALUE_STATS")}
_NULLABLE = frozenset(
    {"creation_time", "delete_row_count", "embedded_index", "file_source", "value_stats_cols", "external_path",
     "first_row_id", "write_cols", "write_cols_sequences", "extra_files"}
)  # fmt: skip
_WANTED: dict[Path, Kind] = {
    _VERSION: _INTEGER, ("_KIND",): _INTEGER, _PARTITION: _BYTES, ("_BUCKET",): _INTEGER, ("_TOTAL_BUCKETS",): _INTEGER,
    **dict(_FILE.values()),
    **{(*stats, name): _BYTES for stats in _STATS.values() for name in ("_MIN_VALUES", "_MAX_VALUES")},
    **{(*stats, "_NULL_COUNTS"): Kind.COUNTS for stats in _STATS.values()},
}  # fmt: skip
_ONLY_NAMES = {path: _WANTED[path] for path in (_VERSION, _NAME, _EXTRAS)}
_RANGES: dict[Path, range] = {
    ("_KIND",): KINDS, ("_BUCKET",): INT32, ("_TOTAL_BUCKETS",): INT32, _FILE["level"][0]: INT32,
    _FILE["file_size"][0]: COUNT, _FILE["row_count"][0]: COUNT, _FILE["file_source"][0]: SOURCES,
}  # fmt: skip
_NEEDED = frozenset(
    path for path in _WANTED if path[-1] != "_NULL_COUNTS" and path not in {_FILE[name][0] for name in _NULLABLE}
)


@dataclass(frozen=True)
class ManifestColumns:
    """All entries of some manifests, in order. Arrays have one element for each entry.

    Attributes:
        files: names of the manifests, for messages.
        file_starts: for each manifest, the number of its first entry.
        buffer: the bytes that texts, rows and arrays are taken from.
        columns: the columns as decoded.
        partitions: the distinct partition rows.
        partition_code: index into partitions.
    """

    files: tuple[str, ...]
    file_starts: Ints
    buffer: bytes
    columns: dict[Path, Column]
    partitions: list[bytes]
    partition_code: Ints

    def __len__(self) -> int:
        return len(self.partition_code)

    @property
    def kind(self) -> Ints:
        return self.columns["_KIND",].values

    @property
    def bucket(self) -> Ints:
        return self.columns["_BUCKET",].values

    @property
    def total_buckets(self) -> Ints:
        return self.columns["_TOTAL_BUCKETS",].values

    @property
    def level(self) -> Ints:
        return self.needed_integers("level")

    @property
    def schema_id(self) -> Ints:
        return self.needed_integers("schema_id")

    @property
    def row_count(self) -> Ints:
        return self.needed_integers("row_count")

    @property
    def file_size(self) -> Ints:
        return self.needed_integers("file_size")

    @property
    def max_sequence_number(self) -> Ints:
        return self.needed_integers("max_sequence_number")

    def needed_integers(self, attribute: str) -> Ints:
        """An integer attribute of DataFileMeta that is never None."""
        return self.columns[_FILE[attribute][0]].values

    @cached_property
    def file_names(self) -> list[str]:
        """The names of the data files."""
        return self._texts(_FILE["file_name"][0], np.arange(len(self)))

    @cached_property
    def has_plain_names(self) -> bool:
        """True if the names of all data files are valid, and of ASCII; False if that takes more than a short look."""
        return _are_plain_names(self.buffer, self.columns[_NAME])

    def with_extra_files(self) -> Ints:
        """The numbers of the entries whose files have sidecars."""
        column = self.attribute("extra_files")
        return np.flatnonzero(column.ends - column.values > 1)  # one byte is the end of an array

    def entry(self, index: int) -> ManifestEntry:
        """The entry of this number. Raises CorruptFile if a text is not UTF-8, or a file name is not valid."""
        return self.entries([index])[0]

    def entries(self, indices: Sequence[int] | Ints) -> list[ManifestEntry]:
        """The entries of these numbers, in this order.

        Raises:
            CorruptFile: a text is not UTF-8, or a file name is not valid (see format/names.py).
        """
        chosen = np.asarray(indices, np.int64)
        values: dict[str, Iterable[Any]] = {
            "kind": self.kind[chosen].tolist(),
            "partition": map(self.partitions.__getitem__, self.partition_code[chosen].tolist()),
            "bucket": self.bucket[chosen].tolist(),
            "total_buckets": self.total_buckets[chosen].tolist(),
            "file": self.data_files(chosen),
        }
        with _collector_paused():
            return _instances(ManifestEntry, values)

    def data_files(self, indices: Sequence[int] | Ints, stats: bool = True, keys: bool = True) -> list[DataFileMeta]:
        """The files of the entries of these numbers, in this order.

        Args:
            indices: numbers of entries.
            stats: False leaves the statistics empty, which takes half the time.
            keys: False leaves the key ranges empty, as they are in append tables.

        Raises:
            CorruptFile: a text is not UTF-8, or a file name is not valid (see format/names.py).
        """
        left_out, count = dict[str, Iterable[Any]](), len(indices)
        if not stats:
            left_out |= {name: repeat(EMPTY_STATS, count) for name in _STATS} | {"value_stats_cols": repeat((), count)}
        if not keys:
            left_out |= {name: repeat(EMPTY_ROW, count) for name in ("min_key", "max_key")}
        with _collector_paused():
            return self._data_files(np.asarray(indices, np.int64), left_out)

    def _data_files(self, chosen: Ints, left_out: Mapping[str, Iterable[Any]]) -> list[DataFileMeta]:
        values = dict(left_out)
        for attribute, (path, kind) in _FILE.items():
            if attribute in left_out:
                continue
            if kind is _INTEGER:
                values[attribute] = self._integers(path, chosen)
            elif kind is _BYTES:
                values[attribute] = self._texts(path, chosen) if path[-1] in _TEXT else self._slices(path, chosen)
            else:
                values[attribute] = self._arrays(path, kind, chosen)
        if self.attribute("external_path").valid[chosen].any():
            places = zip(chosen.tolist(), values["file_name"], values["external_path"], strict=True)
            for entry, name, external in places:
                if external is not None:
                    checked_external_path(external, name, self.file_of(entry), in_bucket=True)
        values["extra_files"] = [names or () for names in values["extra_files"]]
        for attribute, path in _STATS.items():
            if attribute not in left_out:
                values[attribute] = self._stats(path, chosen)
        return _instances(DataFileMeta, values)

    def _stats(self, path: Path, chosen: Ints) -> list[SimpleStats]:
        values: dict[str, Iterable[Any]] = {
            "min_values": self._slices((*path, "_MIN_VALUES"), chosen),
            "max_values": self._slices((*path, "_MAX_VALUES"), chosen),
            "null_counts": self._arrays((*path, "_NULL_COUNTS"), Kind.COUNTS, chosen),
        }
        return _instances(SimpleStats, values)

    def stats_shapes(self, indices: Ints) -> tuple[Ints, list[tuple[int, tuple[str, ...] | None]]]:
        """The columns that the value statistics of entries are about.

        Returns:
            For each entry the number of its shape, and the shapes. A shape is a schema id and the columns that have
            statistics: the recorded ones, else those that the file was written with, else None for all of the schema.
        """
        kept = self._arrays(_FILE["value_stats_cols"][0], Kind.TEXTS, indices)
        written = self._arrays(_FILE["write_cols"][0], Kind.TEXTS, indices)
        names = (one if one is not None else other for one, other in zip(kept, written, strict=True))
        shapes = list(zip(self.schema_id[indices].tolist(), names, strict=True))
        numbers = {shape: number for number, shape in enumerate(dict.fromkeys(shapes))}
        return np.fromiter(map(numbers.__getitem__, shapes), np.int64, len(shapes)), list(numbers)

    def attribute(self, name: str) -> Column:
        """A column by attribute of DataFileMeta, as decoded: texts and bytes are spans of the buffer."""
        column = self.columns.get(_FILE[name][0])
        return absent_column(len(self)) if column is None else column

    def lists(self, path: Path, indices: Ints) -> list[tuple[Any, ...] | None]:
        """Arrays of texts or counts, such as ``("_FILE", "_WRITE_COLS")``, of the entries of these numbers."""
        return self._arrays(path, _WANTED[path], indices)

    def texts(self, attribute: str, indices: Ints) -> list[str | None]:
        """A text attribute of DataFileMeta of these entries. Raises CorruptFile if a text is not UTF-8."""
        return self._texts(_FILE[attribute][0], indices)

    def _integers(self, path: Path, chosen: Ints) -> list[Any]:
        """The integers of the chosen entries, None for nulls."""
        column = self.columns.get(path)
        if column is None:
            return [None] * len(chosen)
        return _with_nulls(column.values[chosen].tolist(), column.valid[chosen])

    def _slices(self, path: Path, chosen: Ints) -> list[Any]:
        """The bytes of the spans of the chosen entries, None for nulls."""
        column = self.columns.get(path)
        if column is None or not column.valid[chosen].any():
            return [None] * len(chosen)
        return _with_nulls(_cut(self.buffer, column, chosen), column.valid[chosen])

    def _texts(self, path: Path, chosen: Ints) -> list[Any]:
        slices = self._slices(path, chosen)
        try:
            texts: list[Any] = [None if raw is None else raw.decode() for raw in slices]
        except UnicodeDecodeError:
            bad = next(i for i, raw in enumerate(slices) if raw is not None and not _is_text(raw))
            raise self._not_text(slices[bad], int(chosen[bad])) from None
        if path == _NAME and not are_names(texts):
            for entry, text in zip(chosen.tolist(), texts, strict=True):
                checked_name(text, _NAME[-1], self.file_of(entry))
        return texts

    def _arrays(self, path: Path, kind: Kind, chosen: Ints) -> list[Any]:
        """Arrays from their bytes, each distinct one decoded once: most manifests repeat a few of them."""
        column = self.columns.get(path)
        if (
            column is not None
            and column.valid[chosen].all()
            and (column.ends - column.values)[chosen].max(initial=0) <= 1
        ):
            return [()] * len(chosen)  # one byte is the end of an array: they are all empty
        slices = self._slices(path, chosen)
        decoded: dict[bytes | None, tuple[Any, ...] | None] = dict.fromkeys(slices)
        for raw in decoded:
            try:
                items = None if raw is None else tuple(_items(raw, kind))
            except UnicodeDecodeError:
                raise self._not_text(raw, int(chosen[slices.index(raw)])) from None
            if path == _EXTRAS and items and not are_names(items):
                for name in items:
                    checked_name(name, path[-1], self.file_of(int(chosen[slices.index(raw)])))
            decoded[raw] = items
        return list(map(decoded.__getitem__, slices))

    def _not_text(self, raw: bytes | None, entry: int) -> CorruptFile:
        return CorruptFile(f"cannot read {self.file_of(entry)}: a name is not UTF-8 ({raw!r:.60}); the file is damaged")

    def file_of(self, entry: int) -> str:
        """The manifest an entry was read from."""
        return _file_of(self.files, self.file_starts, entry)


def decode_manifests(manifests: Sequence[tuple[str, bytes]], only_names: bool = False) -> ManifestColumns:
    """The entries of many manifests, one manifest after the other.

    Args:
        manifests: name, for messages, and bytes of each.
        only_names: True decodes the names of files and of their sidecars alone: nothing else may be asked for.

    Raises:
        CorruptFile: a file is not a manifest, truncated or damaged.
        UnsupportedFeature: a record version this release does not know.
    """
    names = tuple(name for name, _ in manifests)
    wanted = _ONLY_NAMES if only_names else _WANTED
    budget = Budget(sum(len(data) for _, data in manifests))
    packed = [scan_container(data, name) for name, data in manifests]
    edges = list(accumulate((sum(count for count, _, _ in file.blocks) for file in packed), initial=0))
    try:
        decoded = decode_lanes(_containers(names, packed, budget), wanted)
    except LaneError as error:
        where = _file_of(names, np.array(edges[:-1]), error.record)
        raise CorruptFile(f"cannot read {where} as Avro: {error}; the file is damaged") from None
    starts = np.array(edges[:-1], np.int64)
    columns = dict(decoded.columns)
    for path in _NEEDED & wanted.keys():
        column = columns.setdefault(path, absent_column(decoded.count))
        if not column.valid.all():
            where = _file_of(names, starts, int(np.argmin(column.valid)))
            raise CorruptFile(f"cannot read {where}: an entry has no '{path[-1]}'; this is not a manifest")
    _check_ranges(columns, names, starts)
    versions = columns[_VERSION].values
    if (versions != MANIFEST_VERSION).any():
        other = int(np.argmax(versions != MANIFEST_VERSION))
        raise UnsupportedFeature(
            f"cannot read {_file_of(names, starts, other)}: its records have version {versions[other]}, this release "
            f"knows {MANIFEST_VERSION} only"
        )
    if only_names:
        return ManifestColumns(names, starts, decoded.buffer, columns, [], np.zeros(decoded.count, np.int64))
    return ManifestColumns(names, starts, decoded.buffer, columns, *_distinct(decoded.buffer, columns[_PARTITION]))


def columns_of_entries(name: str, entries: Iterable[ManifestEntry]) -> ManifestColumns:
    """What ``decode_manifests`` makes of a manifest of few entries, without the bytes that lie between the values."""
    records, buffer, columns = list(map(entry_record, entries)), bytearray(), dict[Path, Column]()
    for path, kind in _WANTED.items():
        given: list[Any] = [reduce(dict.__getitem__, path, record) for record in records]
        begins, ends = list[int](), list[int]()
        for value in given:
            if kind is _INTEGER or value is None:
                begins.append(value or 0)
                ends.append(0)
            else:
                begins.append(len(buffer))
                buffer += _encoded(value, kind)
                ends.append(len(buffer))
        valid = np.array([value is not None for value in given], np.bool_)
        values = np.array(begins, np.int64)
        columns[path] = Column(values, values if kind is _INTEGER else np.array(ends, np.int64), valid)
    held = bytes(buffer)
    return ManifestColumns((name,), np.zeros(1, np.int64), held, columns, *_distinct(held, columns[_PARTITION]))


def _encoded(value: Any, kind: Kind) -> bytes:
    """A text, binary value or array as Avro writes it, without the length of a text."""
    if kind is _BYTES:
        return value.encode() if isinstance(value, str) else bytes(value)
    items = [_encoded_item(item, kind) for item in value]
    return b"".join((varint(len(items)), *items, varint(0))) if items else varint(0)


def _encoded_item(item: Any, kind: Kind) -> bytes:
    if kind is Kind.TEXTS:
        text = item.encode()
        return varint(len(text)) + bytes(text)
    if kind is Kind.INTEGERS:
        return varint(item)
    return varint(0) if item is None else varint(1) + varint(item)


def _containers(names: Sequence[str], files: Sequence[PackedContainer], budget: Budget) -> Iterator[Container]:
    """The files, their blocks decompressed one by one; encoded again where lanes do not cover them."""
    covered: set[int] = set()  # id()s of schemas
    for name, file in zip(names, files, strict=True):
        if id(file.schema) not in covered and _is_covered(file.schema):
            covered.add(id(file.schema))
        if id(file.schema) in covered and all(count <= _MOST_TURNS for count, _, _ in file.blocks):
            yield Container(file.schema, unpacked_blocks(file, name, budget))
        else:
            yield read_container(encode_manifest(decode_manifest(file.data, name), "null"), name)


def _is_covered(schema: Any) -> bool:
    try:
        plan_steps(schema, _WANTED)
    except UncoveredSchema:
        return False
    return True


def _check_ranges(columns: Mapping[Path, Column], names: Sequence[str], starts: Ints) -> None:
    """Checks that all integers are in the ranges of their fields; raises CorruptFile for the first that is not."""
    for path, allowed in _RANGES.items():
        if path not in columns:  # a nullable field that older writers did not have
            continue
        values = columns[path].values
        if len(values) and not (values.min() >= allowed.start and values.max() < allowed.stop):
            bad = int(np.argmax((values < allowed.start) | (values > allowed.stop - 1)))
            raise CorruptFile(
                f"cannot read {_file_of(names, starts, bad)}: field '{path[-1]}' is {values[bad]}, not an integer from "
                f"{allowed.start} to {allowed.stop - 1}"
            )


def is_span(path: Path) -> bool:
    """True if a column holds places in the buffer; else integers."""
    return _WANTED[path] is not _INTEGER


def _file_of(names: Sequence[str], starts: Ints, entry: int) -> str:
    return names[int(np.searchsorted(starts, entry, side="right")) - 1]


def _cut(buffer: bytes, column: Column, chosen: Ints) -> list[bytes]:
    spans = zip(column.values[chosen].tolist(), column.ends[chosen].tolist(), strict=True)
    return [buffer[start:end] for start, end in spans]


def _distinct(buffer: bytes, column: Column) -> tuple[list[bytes], Ints]:
    """The distinct rows of a column in the order in which they come first, and the number of that of each record."""
    heads = _heads(buffer, column)
    rows = _cut(buffer, column, heads)
    codes = {row: code for code, row in enumerate(dict.fromkeys(rows))}
    of_heads = np.fromiter(map(codes.__getitem__, rows), np.int64, len(rows))
    return list(codes), np.repeat(of_heads, np.diff(heads, append=len(column.values)))


def _heads(buffer: bytes, column: Column) -> Ints:
    """The records whose row may differ from that of the record before: files of a partition mostly stand together."""
    sizes = column.ends - column.values
    if not len(sizes) or sizes.min() < _WORD or sizes.max() > _MOST_COMPARED:
        return np.arange(len(sizes))
    words = np.ndarray((len(buffer) - _WORD + 1,), np.uint64, buffer, strides=(1,))
    differs = np.ones(len(sizes), np.bool_)
    differs[1:] = sizes[1:] != sizes[:-1]
    for first in range(0, len(sizes), _MOST_TURNS):  # so few that they stay in the cache of the processor
        some = slice(max(first - 1, 0), first + _MOST_TURNS)
        begins, last, found = column.values[some], sizes[some] - _WORD, differs[some]
        for start in range(0, int(last.max()) + _WORD, _WORD):  # the last word of each row ends where the row does
            word = words[begins + np.minimum(start, last)]
            found[1:] |= word[1:] != word[:-1]
    return np.flatnonzero(differs)


def _are_plain_names(buffer: bytes, column: Column) -> bool:
    """True if the spans are of few lengths, and of ASCII without the marks that no name may have (format.names)."""
    sizes = column.ends - column.values
    lengths = np.unique(sizes).tolist()
    if not lengths or len(lengths) > _MOST_LENGTHS or lengths[0] < _WORD or lengths[-1] > _MOST_COMPARED:
        return False
    for length in lengths:
        places = np.ndarray((len(buffer) - length + 1,), f"V{length}", buffer, strides=(1,))
        begins = column.values[sizes == length]
        for first in range(0, len(begins), _MOST_TURNS):
            names = places[begins[first : first + _MOST_TURNS]].tobytes()
            if not names.isascii() or any(mark in names for mark in _MARKS):
                return False
    return True


def _with_nulls(values: list[Any], valid: Bools) -> list[Any]:
    if valid.all():
        return values
    return [value if is_valid else None for value, is_valid in zip(values, valid.tolist(), strict=True)]


def _items(raw: bytes, kind: Kind) -> Iterator[Any]:
    """The items of an encoded array whose structure was checked."""
    count, at = read_varint(raw, 0)
    while count:
        if count < 0:
            _, at = read_varint(raw, at)
        for _ in range(abs(count)):
            value, at = read_varint(raw, at)
            if kind is Kind.TEXTS:
                yield raw[at : at + value].decode()
                at += value
            elif kind is Kind.INTEGERS:
                yield value
            elif value == 0:  # the branch of the union
                yield None
            else:
                value, at = read_varint(raw, at)
                yield value
        count, at = read_varint(raw, at)


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pauses the collection of cyclic garbage within the block.

    The objects made there have no cycles. Traversing them again and again would add a third to the time.
    """
    paused = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if paused:
            gc.enable()


def _instances(cls: type[T], values: Mapping[str, Iterable[Any]]) -> list[T]:
    """Named tuples from one iterable for each field, all of one length. No Python code runs for each of them."""
    columns = [values[name] for name in cls._fields]
    return list(map(tuple.__new__, repeat(cls), zip(*columns, strict=True)))
