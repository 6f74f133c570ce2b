"""Whole Avro files as records, by fastavro: the reference for avro_lanes, and the writer of all metadata files."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from typing import Any

import fastavro
from fastavro.schema import SchemaParseException, UnknownType

from paimon_spark.spec.avro_container import codec_name, corrupt, read_container

_ZSTD_LEVEL = 1


def read_records(data: bytes, where: str) -> list[dict[str, Any]]:
    """The records of a file as dicts by field name, in file order. Logical types stay as they are stored.

    Raises:
        CorruptFile: not an Avro file of records, truncated or damaged; the message names where.
    """
    container = read_container(data, where)
    records: list[Any] = []
    try:
        schema = fastavro.parse_schema(without_logical_types(container.schema))
        for count, raw in container.blocks:
            source = io.BytesIO(raw)
            records.extend(fastavro.schemaless_reader(source, schema, None) for _ in range(count))
            if source.tell() != len(raw):
                raise corrupt(where, data, f"a block of {len(raw)} bytes holds its {count} records in {source.tell()}")
    except (SchemaParseException, UnknownType) as error:
        raise corrupt(where, data, f"its schema is not valid ({error})") from None
    except (EOFError, ValueError, LookupError, TypeError, AttributeError, OverflowError, struct.error) as error:
        raise corrupt(where, data, repr(error)) from None
    if not all(isinstance(record, dict) for record in records):
        raise corrupt(where, data, "it holds values that are not records")
    return records


def write_records(records: Iterable[dict[str, Any]], schema: dict[str, Any], compression: str = "zstd") -> bytes:
    """A whole file of the records.

    Raises:
        OptionError: Avro has no such compression.
    """
    sink = io.BytesIO()
    codec = codec_name(compression)
    level = _ZSTD_LEVEL if codec == "zstandard" else None
    fastavro.writer(sink, schema, records, codec=codec, codec_compression_level=level, disable_tuple_notation=True)
    return sink.getvalue()


def without_logical_types(schema: Any) -> Any:
    """The schema with every ``logicalType`` taken out: times stay integers and no time is out of Python's range."""
    if isinstance(schema, dict):
        return {key: without_logical_types(value) for key, value in schema.items() if key != "logicalType"}
    if isinstance(schema, list):
        return [without_logical_types(item) for item in schema]
    return schema
