"""Several manifests as one: big ones are copied in blocks, columns are joined (Java: ManifestFileBlockMerger)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paimon_spark.format.avro.container import SYNC_SIZE, PackedContainer, scan_container, varint
from paimon_spark.format.avro.lanes import Column, Ints, Path, absent_column
from paimon_spark.format.manifests.codec import decode_manifest, encode_manifest
from paimon_spark.format.manifests.columns import ManifestColumns, decode_manifests, is_span

_FULL_BLOCK = 16  # fewer records a block on average are worth being compressed together again
_COLUMN_BYTES = 512
"""Of a column and its three arrays without their values."""
_NAME_BYTES = 112
"""Of the name of a file as text, which is made when the names are first asked for, and then kept too."""


def join_manifests(files: Sequence[tuple[str, bytes]], compression: str = "zstd") -> bytes | None:
    """One manifest with the entries of all, in another order.

    Args:
        files: name, for messages, and bytes of each. All entries must be additions: between an addition and a deletion
            the order matters.
        compression: a value of the option ``manifest.compression``.

    Returns:
        The bytes of the new manifest. None if the big manifests cannot be copied, because their schema or codec differs
        from ours: another writer or release wrote them.

    Raises:
        CorruptFile: a file is damaged.
    """
    packed = [scan_container(data, name) for name, data in files]
    is_big = [sum(count for count, _, _ in p.blocks) >= _FULL_BLOCK * max(len(p.blocks), 1) for p in packed]
    small = [
        entry for file, big in zip(files, is_big, strict=True) if not big for entry in decode_manifest(file[1], file[0])
    ]
    joined = bytearray(encode_manifest(small, compression))
    sync = bytes(joined[-SYNC_SIZE:])  # a container ends with a marker, also one without blocks
    ours = scan_container(bytes(joined), "a new manifest")
    for container, big in zip(packed, is_big, strict=True):
        if big:
            if (container.schema, container.codec) != (ours.schema, ours.codec):
                return None
            _copy_blocks(container, joined, sync)
    return bytes(joined)


def _copy_blocks(source: PackedContainer, target: bytearray, sync: bytes) -> None:
    for count, start, end in source.blocks:
        target += varint(count) + varint(end - start) + source.data[start:end] + sync


def join_columns(parts: Sequence[ManifestColumns]) -> ManifestColumns:
    """What ``decode_manifests`` makes of the manifests of the parts, in this order."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return decode_manifests([])
    counts = np.array([len(part) for part in parts], np.int64)
    places = np.array([len(part.buffer) for part in parts], np.int64)
    firsts, begins = np.cumsum(counts) - counts, np.cumsum(places) - places
    moved_by = np.repeat(begins, counts)
    codes: dict[bytes, int] = {}
    partition_codes = [
        np.array([codes.setdefault(row, len(codes)) for row in part.partitions], np.int64)[part.partition_code]
        for part in parts
    ]
    paths = dict.fromkeys(path for part in parts for path in part.columns)
    return ManifestColumns(
        tuple(name for part in parts for name in part.files),
        np.concatenate([part.file_starts + first for part, first in zip(parts, firsts.tolist(), strict=True)]),
        b"".join(part.buffer for part in parts),
        {path: _joined(path, parts, moved_by) for path in paths},
        list(codes),
        np.concatenate(partition_codes),
    )


def _joined(path: Path, parts: Sequence[ManifestColumns], moved_by: Ints) -> Column:
    """One column of all parts.

    Args:
        moved_by: by how much the buffer of each record begins later than before; the spans of nulls stay 0.
    """
    columns = [part.columns.get(path) or absent_column(len(part)) for part in parts]
    valid = np.concatenate([column.valid for column in columns])
    values = np.concatenate([column.values for column in columns])
    if not is_span(path):
        return Column(values, values, valid)
    ends = np.concatenate([column.ends for column in columns])
    return Column((values + moved_by) * valid, (ends + moved_by) * valid, valid)


def _moved(column: Column, by: int) -> Column:
    """Spans of a buffer that begins elsewhere; those of nulls stay 0."""
    return Column((column.values + by) * column.valid, (column.ends + by) * column.valid, column.valid)


def split_columns(columns: ManifestColumns) -> list[ManifestColumns]:
    """What ``decode_manifests`` makes of each of the manifests alone; nothing of the whole is kept in memory by it."""
    edges = [*columns.file_starts.tolist(), len(columns)]
    return [_part(columns, number, edges[number], edges[number + 1]) for number in range(len(columns.files))]


def _part(whole: ManifestColumns, number: int, start: int, end: int) -> ManifestColumns:
    mine = {
        path: Column(c.values[start:end].copy(), c.ends[start:end].copy(), c.valid[start:end].copy())
        for path, c in whole.columns.items()
    }
    spans = [column for path, column in mine.items() if is_span(path) and column.valid.any()]
    first = min((int(column.values[column.valid].min()) for column in spans), default=0)
    last = max((int(column.ends.max()) for column in spans), default=0)
    rows = list(map(whole.partitions.__getitem__, whole.partition_code[start:end].tolist()))
    codes = {row: code for code, row in enumerate(dict.fromkeys(rows))}
    return ManifestColumns(
        (whole.files[number],),
        np.zeros(1, np.int64),
        whole.buffer[first:last],
        {path: _moved(column, -first) if is_span(path) else column for path, column in mine.items()},
        list(codes),
        np.fromiter(map(codes.__getitem__, rows), np.int64, len(rows)),
    )


def held_bytes(columns: ManifestColumns) -> int:
    """About how much memory they take. Most manifests are small, and their arrays take less than the array objects."""
    arrays = {id(a): a.nbytes for c in columns.columns.values() for a in (c.values, c.ends, c.valid)}
    objects = _COLUMN_BYTES * len(columns.columns)
    rows = columns.partition_code.nbytes + sum(map(len, columns.partitions)) + _NAME_BYTES * len(columns)
    return len(columns.buffer) + sum(arrays.values()) + objects + rows
