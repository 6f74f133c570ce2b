"""Tables with views of blobs by the genuine Java, which follows views in tables that a catalog opens. Runs where the
JVM is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from genuine_values import Codec, codec, objects
from java_table import NO_OPTIONS


def write_views(paimon: Any, warehouse: str, name: str, rows: Sequence[tuple[Any, ...]], views: Sequence[str]) -> None:
    """One commit of rows; in the columns of views a value is (table, id of the column, id of the row)."""
    table = _table(paimon, warehouse, name)
    names = [str(each) for each in table.rowType().getFieldNames()]
    codecs = [codec(each) for each in table.rowType().getFieldTypes()]
    builder = table.newBatchWriteBuilder()
    with builder.newWrite() as writer:
        for row in rows:
            values = [
                _view(paimon, value) if column in views and value is not None else each.encode(value)
                for column, each, value in zip(names, codecs, row, strict=True)
            ]
            writer.write(paimon.data.GenericRow.of(objects(values)))
        with builder.newCommit() as commit:
            commit.commit(writer.prepareCommit())


def read_views(
    paimon: Any, warehouse: str, name: str, options: Mapping[str, str] = NO_OPTIONS
) -> list[tuple[Any, ...]] | str:
    """The rows of a table by its name; views that are not followed as their bytes. Or the message of the error."""
    try:
        table = _table(paimon, warehouse, name).copy(jpype.java.util.HashMap(dict(options)))
        builder, rows = table.newReadBuilder(), []
        types = list(table.rowType().getFieldTypes())
        codecs = [_codec(paimon, each, options.get("blob-as-descriptor") == "true") for each in types]
        with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
            while cursor.hasNext():
                row = cursor.next()
                rows.append(tuple(None if row.isNullAt(i) else each.decode(row, i) for i, each in enumerate(codecs)))
    except jpype.JException as error:
        while error.getCause() is not None:
            error = error.getCause()
        return f"{error.getClass().getSimpleName()}: {error.getMessage()}"
    return rows


def _codec(paimon: Any, data_type: Any, as_reference: bool) -> Codec:
    known = codec(data_type)
    if str(data_type.getTypeRoot()) != "BLOB":
        return known
    return Codec(known.encode, lambda row, i: _blob(paimon, row, i, as_reference))


def _blob(paimon: Any, row: Any, place: int, as_reference: bool) -> bytes:
    """As the official connector for Spark shows it (Java: Spark4InternalRowWithBlob)."""
    blob = row.getBlob(place)
    if isinstance(blob, paimon.data.BlobView) and not blob.isResolved():
        return bytes(paimon.data.Blob.serializeBlob(blob))
    return bytes(blob.toDescriptor().serialize() if as_reference else blob.toData())


def _view(paimon: Any, value: tuple[str, int, int]) -> Any:
    table, field_id, row_id = value
    identifier = paimon.catalog.Identifier.fromString(table)
    return paimon.data.Blob.fromView(paimon.data.BlobViewStruct(identifier, jpype.JInt(field_id), jpype.JLong(row_id)))


def _table(paimon: Any, warehouse: str, name: str) -> Any:
    options = {"warehouse": f"file:{warehouse}", "cache-enabled": "false"}
    context = paimon.catalog.CatalogContext.create(paimon.options.Options(jpype.java.util.HashMap(options)))
    catalog = paimon.catalog.CatalogFactory.createCatalog(context)
    return catalog.getTable(paimon.catalog.Identifier.fromString(name))
