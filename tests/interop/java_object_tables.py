"""Tables of other kinds by the genuine Java; run where the JVM is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from genuine_values import codec, objects
from java_catalog import _open


def make_by_java(
    paimon: Any, options: Mapping[str, str], database: str, table: str, properties: Mapping[str, str], comment: str
) -> str:
    """Creates a table without declared columns; the words of the error, or none."""
    builder = paimon.schema.Schema.newBuilder().options(jpype.java.util.HashMap(dict(properties))).comment(comment)
    try:
        _open(paimon, options).createTable(paimon.catalog.Identifier.create(database, table), builder.build(), False)
    except jpype.JException as error:
        return str(error)
    return ""


def make_format_table(
    paimon: Any,
    options: Mapping[str, str],
    database: str,
    table: str,
    columns: Mapping[str, Any],
    partitions: Sequence[str],
    properties: Mapping[str, str],
) -> None:
    """Creates a table with columns, as a schema file writes them."""
    fields = [{"id": number, "name": name, "type": kind} for number, (name, kind) in enumerate(columns.items())]
    text = json.dumps({"fields": fields, "partitionKeys": list(partitions), "primaryKeys": [], "options": properties})
    schema = paimon.utils.JsonSerdeUtil.fromJson(text, paimon.schema.Schema.class_)
    _open(paimon, options).createTable(paimon.catalog.Identifier.create(database, table), schema, False)


def write_by_java(
    paimon: Any, options: Mapping[str, str], database: str, table: str, rows: Sequence[tuple[Any, ...]]
) -> None:
    """One commit of rows of a format table. Decimals are texts, timestamps microseconds."""
    opened = _open(paimon, options).getTable(paimon.catalog.Identifier.create(database, table))
    codecs = [codec(kind) for kind in opened.rowType().getFieldTypes()]
    builder = opened.newBatchWriteBuilder()
    with builder.newWrite() as writer, builder.newCommit() as commit:
        for row in rows:
            made = objects([one.encode(value) for one, value in zip(codecs, row, strict=True)])
            writer.write(paimon.data.GenericRow.of(made))
        commit.commit(writer.prepareCommit())


def overwrite_by_java(
    paimon: Any,
    options: Mapping[str, str],
    database: str,
    table: str,
    rows: Sequence[tuple[Any, ...]],
    partition: Mapping[str, str],
) -> None:
    """Replaces the rows of a partition, given by its names in their order; none: those of the partitions of rows."""
    opened = _open(paimon, options).getTable(paimon.catalog.Identifier.create(database, table))
    codecs = [codec(kind) for kind in opened.rowType().getFieldTypes()]
    static = jpype.java.util.LinkedHashMap()
    for key, text in partition.items():
        static.put(key, text)
    builder = opened.newBatchWriteBuilder().withOverwrite(static)
    with builder.newWrite() as writer, builder.newCommit() as commit:
        for row in rows:
            made = objects([one.encode(value) for one, value in zip(codecs, row, strict=True)])
            writer.write(paimon.data.GenericRow.of(made))
        commit.commit(writer.prepareCommit())
