"""Joins many manifests into one; blocks of big manifests are copied undecoded (Java: ManifestFileBlockMerger)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.format.avro.container import SYNC_SIZE, PackedContainer, scan_container
from paimon_spark.format.manifests.codec import decode_manifest, encode_manifest

_FULL_BLOCK = 16  # fewer records a block on average are worth being compressed together again


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
        target += _varint(count) + _varint(end - start) + source.data[start:end] + sync


def _varint(value: int) -> bytes:
    """A non-negative integer as Avro writes it."""
    zigzag = value << 1
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)
