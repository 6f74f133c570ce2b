"""``schema``: the columns of a table, its keys and its options. ``options``: those that it stores, or all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import pyarrow as pa
import typer

from paimon_spark.cli.arguments import (
    At,
    Branch,
    Columns,
    Output,
    OutputFormat,
    RowsFormat,
    RowsOutput,
    TableOptions,
    TablePath,
    Where,
    parse_options,
)
from paimon_spark.cli.commands.listings import SHOWN, Limit, list_rows
from paimon_spark.cli.facts import find_in_state, find_object_table
from paimon_spark.cli.tables import print_json, print_pairs, print_whole
from paimon_spark.cli.texts import shown_options, time_text
from paimon_spark.cli.values import json_rows, print_csv
from paimon_spark.errors import OptionError
from paimon_spark.format.options.described import described_options
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import type_sql
from paimon_spark.store.metadata.schemas import SchemaStore
from paimon_spark.store.storage.local_time import iso_time

app: Final = typer.Typer()
_MARKUP = re.compile(r"\[([^\]]+)\]\([^)]*\)|`")  # of the descriptions, which the documentation shows too
_KNOWN = pa.schema([(name, pa.string()) for name in ("option", "status", "type", "default", "meaning")])


@dataclass(frozen=True)
class ColumnFacts:
    """A column. key: what it serves as, such as ``primary key 1``; default: as the user wrote it."""

    name: str
    type: str
    key: tuple[str, ...]
    default: str | None
    comment: str | None


@dataclass(frozen=True)
class SchemaFacts:
    """A schema. time: when it was made, ISO 8601 with the local offset; options: as shown_options gives them."""

    schema_id: int
    time: str
    columns: tuple[ColumnFacts, ...]
    primary_keys: tuple[str, ...]
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]
    comment: str | None


@app.command()
def schema(
    path: TablePath,
    at: At = None,
    number: Annotated[
        int | None, typer.Option("--id", metavar="N", show_default=False, help="That schema, as schemas lists them.")
    ] = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Columns, types, keys, options and comments, of the newest schema unless another one is named."""
    if at is not None and number is not None:
        raise typer.BadParameter("give --at or --id, not both", param_hint="'--id'")
    listed = find_object_table(path, parse_options(option, branch), at)
    table = find_in_state(path, parse_options(option, branch), at) if listed is None else listed.table
    found = table.schema if number is None else _load(table.schemas, number)
    if output is Output.JSON:
        print_json(asdict(_facts(found)))
    else:
        _print(found)


def _load(schemas: SchemaStore, number: int) -> TableSchema:
    ids = schemas.ids()
    if number not in ids:
        there = ", ".join(map(str, ids))
        raise OptionError(f"the table at {schemas.table} has no schema {number}; its schemas are {there}")
    return schemas.load(number)


def _facts(schema: TableSchema) -> SchemaFacts:
    columns = tuple(
        ColumnFacts(field.name, type_sql(field.type), tuple(_keys(schema, field.name)), field.default_value,
                    field.description)
        for field in schema.fields
    )  # fmt: skip
    return SchemaFacts(
        schema.id, iso_time(schema.time_millis), columns, tuple(schema.primary_keys), tuple(schema.partition_keys),
        shown_options(schema.options), schema.comment,
    )  # fmt: skip


def _keys(schema: TableSchema, name: str) -> Iterator[str]:
    """What a column serves as; of several columns with their number."""
    settings = TableSettings(schema.options)
    roles = {
        "primary key": schema.primary_keys,
        "partition": schema.partition_keys,
        "bucket key": settings.bucket_key,
        "sequence": settings.sequence_field,
    }
    for role, names in roles.items():
        if name in names:
            yield f"{role} {names.index(name) + 1}" if len(names) > 1 else role


def _print(schema: TableSchema) -> None:
    facts = _facts(schema)
    rows = [[c.name, c.type, ", ".join(c.key), c.default or "", c.comment or ""] for c in facts.columns]
    names = ("column", "type", "key", "default", "comment")
    used = [i for i in range(len(names)) if i < 2 or any(row[i] for row in rows)]
    print_whole([names[i] for i in used], [[row[i] for i in used] for row in rows])
    print()
    print_pairs(_rest(facts, schema.time_millis))


def _rest(facts: SchemaFacts, time_millis: int) -> Iterator[tuple[str, str]]:
    yield "schema", f"{facts.schema_id}, made {time_text(time_millis)}"
    yield "primary key", ", ".join(facts.primary_keys) or "none: rows are appended"
    yield "partitions", ", ".join(facts.partition_keys) or "none"
    shown = sorted(f"{key} = {value}" for key, value in facts.options.items() if key != "path")
    for number, text in enumerate(shown or ["none"]):
        yield "" if number else "options", text
    if facts.comment:
        yield "comment", facts.comment


@app.command("options", help=SHOWN["options"][0])
def options(
    path: Annotated[
        str | None,
        typer.Argument(
            metavar="PATH",
            show_default=False,
            help="The table directory, as for other commands; with --known a part of the names that are wanted.",
        ),
    ] = None,
    known: Annotated[
        bool, typer.Option("--known", help="List all options that this release knows, with what each does.")
    ] = False,
    where: Where = None,
    columns: Columns = None,
    limit: Limit = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: RowsFormat = RowsOutput.TEXT,
) -> None:
    if known:
        if where or columns or branch or option:
            raise OptionError("--known reads no table: leave out --where, --columns, --branch and --option")
        _print_known(path or "", limit, output)
        return
    if path is None:
        raise typer.BadParameter("name a table, or give --known for all options that there are", param_hint="PATH")
    list_rows("options", path, parse_options(option, branch), columns, where, limit, output)


def _print_known(part: str, limit: int | None, output: RowsOutput) -> None:
    rows = list(_known(part.lower()))[: limit or None]
    if not rows:
        raise OptionError(f"no known option has '{part}' in its name; without it --known lists them all")
    batch = pa.RecordBatch.from_pylist(rows, schema=_KNOWN)
    if output is RowsOutput.JSON:
        print_json(list(json_rows([batch])))
    elif output is RowsOutput.CSV:
        print_csv(_KNOWN, iter([batch]), None)
    else:
        print_whole(_KNOWN.names, (tuple(row.values()) for row in rows))


def _known(part: str) -> Iterator[dict[str, str]]:
    for option in described_options():
        if part in option.key.lower():
            meaning = _MARKUP.sub(lambda found: found[1] or "", option.meaning)
            values = (option.key, str(option.status), option.type, option.default, meaning)
            yield dict(zip(_KNOWN.names, values, strict=True))
