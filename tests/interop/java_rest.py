"""Tables of a REST catalog by the genuine Java client; run where the JVM is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jpype
from genuine_values import codec
from java_catalog import _open

Options = Mapping[str, str]


def _table(paimon: Any, options: Options, database: str, table: str) -> Any:
    return _open(paimon, options).getTable(paimon.catalog.Identifier.create(database, table))


def rows_by_java(paimon: Any, options: Options, database: str, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table, in no order."""
    opened = _table(paimon, options, database, table)
    builder, rows = opened.newReadBuilder(), []
    codecs = [codec(kind) for kind in builder.readType().getFieldTypes()]
    with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
        while cursor.hasNext():
            row = cursor.next()
            rows.append(tuple(one.decode(row, place) for place, one in enumerate(codecs)))
    return rows


def limited_by_java(
    paimon: Any, options: Options, database: str, table: str, columns: Sequence[str]
) -> list[tuple[Any, ...]] | str:
    """Some columns of the rows that a user may read; a text: Java fails so, for example because it casts a NULL."""
    opened = _table(paimon, options, database, table)
    row_type = opened.rowType().project(jpype.java.util.ArrayList(list(columns)))
    builder, rows = opened.newReadBuilder().withReadType(row_type), list[tuple[Any, ...]]()
    codecs = [codec(kind) for kind in row_type.getFieldTypes()]
    try:
        with builder.newRead().createReader(builder.newScan().plan()).toCloseableIterator() as cursor:
            while cursor.hasNext():
                row = cursor.next()
                rows.append(tuple(one.decode(row, place) for place, one in enumerate(codecs)))
    except jpype.JException as error:
        return f"{error} {str(error.stacktrace())[:400]}"
    return rows


def alter_by_java(paimon: Any, options: Options, database: str, table: str, *changes: tuple[Any, ...]) -> None:
    """Changes of a schema: ("addColumn", name, type), ("renameColumn", old, new), ("setOption", key, value), ..."""
    made = []
    for verb, *words in changes:
        if verb in ("addColumn", "updateColumnType"):
            words[1] = paimon.utils.JsonSerdeUtil.fromJson(f'"{words[1]}"', paimon.types.DataType.class_)
        made.append(getattr(paimon.schema.SchemaChange, verb)(*words))
    identifier = paimon.catalog.Identifier.create(database, table)
    _open(paimon, options).alterTable(identifier, jpype.java.util.ArrayList(made), False)


def on_table(paimon: Any, options: Options, database: str, table: str, method: str, *words: Any) -> None:
    """A call of Java's table: createTag, createBranch, deleteBranch, fastForward, rollbackTo."""
    getattr(_table(paimon, options, database, table), method)(*words)


def on_catalog(paimon: Any, options: Options, database: str, table: str, method: str, *words: Any) -> Any:
    """A call of Java's catalog about a table, as text."""
    catalog, identifier = _open(paimon, options), paimon.catalog.Identifier.create(database, table)
    return str(getattr(catalog, method)(identifier, *words))


def partitions_by_java(paimon: Any, options: Options, database: str, table: str) -> list[tuple[dict[str, str], int]]:
    """(values, rows) of each partition, as the server tells them."""
    found = _open(paimon, options).listPartitions(paimon.catalog.Identifier.create(database, table))
    return [({str(k): str(v) for k, v in dict(one.spec()).items()}, int(one.recordCount())) for one in found]


def view_by_java(paimon: Any, options: Options, database: str, view: str) -> dict[str, Any]:
    """A view as Java's client reads it."""
    found = _open(paimon, options).getView(paimon.catalog.Identifier.create(database, view))
    dialects = {str(k): str(v) for k, v in dict(found.dialects()).items()}
    columns = [str(field.name()) for field in found.rowType().getFields()]
    comment = str(found.comment().get()) if found.comment().isPresent() else None
    return {"query": str(found.query()), "dialects": dialects, "comment": comment, "columns": columns}


def function_by_java(paimon: Any, options: Options, database: str, name: str) -> dict[str, Any]:
    """A function as Java's client reads it."""
    found = _open(paimon, options).getFunction(paimon.catalog.Identifier.create(database, name))
    params = [str(field.name()) for field in found.inputParams().get()]
    definitions = {str(k): str(v.definition()) for k, v in dict(found.definitions()).items()}
    return {"params": params, "definitions": definitions, "deterministic": bool(found.isDeterministic())}


def signed_by_java(
    paimon: Any, body: str | None, path: str, query: Mapping[str, str], method: str, millis: int, keys: Sequence[str]
) -> tuple[dict[str, str], dict[str, str], str]:
    """The headers of a request signed by DLFDefaultSigner, and the text of DLFOpenApiSigner's signature for its own."""
    auth = paimon.rest.auth
    parameter = auth.RESTAuthParameter(path, jpype.java.util.HashMap(dict(query)), method, body)
    token, now = auth.DLFToken(*keys, None), jpype.java.time.Instant.ofEpochMilli(millis)
    told = []
    for signer in (auth.DLFDefaultSigner("cn-x"), auth.DLFOpenApiSigner()):
        headers = signer.signHeaders(body, now, keys[2], "host.example")
        authorization = signer.authorization(parameter, token, "host.example", headers)
        told.append({**{str(k): str(v) for k, v in dict(headers).items()}, "Authorization": str(authorization)})
    return told[0], told[1], "host.example"
