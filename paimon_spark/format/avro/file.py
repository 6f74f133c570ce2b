"""Whole Avro files as records, by fastavro: the reference for ``lanes``, and the writer of all metadata files."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator
from typing import Any, cast

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from paimon_spark import limits
from paimon_spark.format.avro.container import BlockError, codec_name, corrupt, packed_with_checksums, read_container
from paimon_spark.format.avro.limits import LimitError, checked_growth, count_items

_ZSTD_LEVEL = 1
_BLOCK_BYTES = 4000
"""Of a block, before compression. Readers in columns (``lanes``) take a turn for each record of a block: with a quarter
of fastavro's size, 1,000 entries take a quarter of the time, and files are a tenth larger."""


def read_records(data: bytes, where: str) -> Iterator[dict[str, Any]]:
    """The records of a file as dicts by field name, in file order. Logical types stay as they are stored.

    The file is decoded block by block, so a caller that makes something smaller of each record never holds all dicts.

    Raises:
        CorruptFile: not an Avro file of records, truncated, damaged, or far larger than a genuine one; the message
            names where.
    """
    container = read_container(data, where)
    items = unpacked = 0
    try:
        growth = checked_growth(container.schema)
        schema = fastavro.parse_schema(without_logical_types(container.schema))
        for count, raw in container.blocks:
            if len(raw) * growth > limits.MAX_OBJECT_BYTES:
                raise LimitError(f"a block of {len(raw)} bytes may become too many values; {limits.ADVICE}")
            records = _read_block(count, raw, schema)
            unpacked += len(raw)
            if unpacked > limits.MAX_ITEMS:  # each item takes a byte
                items += sum(map(count_items, records))
            if items > limits.MAX_ITEMS:
                raise LimitError(f"its arrays have more than {limits.MAX_ITEMS} items; {limits.ADVICE}")
            yield from records
    except (SchemaParseException, UnknownType) as error:
        raise corrupt(where, data, f"its schema is not valid ({error})") from None
    except (BlockError, LimitError) as error:
        raise corrupt(where, data, error) from None


def _read_block(count: int, raw: bytes, schema: Any) -> list[dict[str, Any]]:
    """The records of one decompressed block.

    Raises:
        BlockError: the bytes are not exactly count records.
    """
    source = io.BytesIO(raw)
    try:
        records = [fastavro.schemaless_reader(source, schema, None) for _ in range(count)]
    except (EOFError, ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error) as error:
        raise BlockError(repr(error)) from None
    if source.tell() != len(raw):
        raise BlockError(f"a block of {len(raw)} bytes holds its {count} records in {source.tell()}")
    if not all(isinstance(record, dict) for record in records):
        raise BlockError("it holds values that are not records")
    return cast("list[dict[str, Any]]", records)


def write_records(records: Iterable[dict[str, Any]], schema: dict[str, Any], compression: str = "zstd") -> bytes:
    """A whole file of the records. With zstandard, a damaged bit of a record is noticed when the file is read.

    Raises:
        OptionError: Avro has no such compression.
    """
    sink = io.BytesIO()
    codec = codec_name(compression)
    has_checksums = codec == "zstandard"
    packing = "null" if has_checksums else codec
    fastavro.writer(sink, schema, records, packing, _BLOCK_BYTES, disable_tuple_notation=True)
    return packed_with_checksums(sink.getvalue(), _ZSTD_LEVEL) if has_checksums else sink.getvalue()


def without_logical_types(schema: Any) -> Any:
    """The schema with every ``logicalType`` taken out: times stay integers and no time is out of Python's range."""
    if isinstance(schema, dict):
        return {key: without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    if isinstance(schema, list):
        return [without_logical_types(item) for item in schema]
    return schema
