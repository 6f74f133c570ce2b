"""System tables as commands: snapshots, files, partitions, ... Text shows the columns that people look for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Annotated, Any, Final

import pyarrow as pa
import typer

from paimon_spark.cli.arguments import (
    At,
    Branch,
    Columns,
    RowsFormat,
    RowsOutput,
    TableOptions,
    TablePath,
    Where,
    at_most_maxsize,
    parse_columns,
    parse_options,
    state_options,
)
from paimon_spark.cli.facts import find_system_scan
from paimon_spark.cli.tables import columns_of, print_json, print_rows, rows_of
from paimon_spark.cli.values import json_rows, print_csv

app: Final = typer.Typer()
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=0,
        show_default=False,
        callback=at_most_maxsize,
        help="At most so many rows, of snapshots and schemas the newest; 0 for all.",
    ),
]

SHOWN: dict[str, tuple[str, Sequence[str]]] = {
    "snapshots": (
        "The snapshots, oldest first.",
        ("snapshot_id", "commit_time", "commit_kind", "total_record_count", "delta_record_count", "schema_id"),
    ),
    "files": (
        "The data files of a state.",
        ("partition", "bucket", "level", "record_count", "file_size_in_bytes", "creation_time", "file_path"),
    ),
    "partitions": (
        "The partitions of a state.",
        ("partition", "record_count", "file_size_in_bytes", "file_count", "last_update_time", "total_buckets"),
    ),
    "buckets": ("The buckets of a state.", ()),
    "tags": ("The tags.", ()),
    "branches": ("The branches.", ()),
    "schemas": (
        "The schemas that the table has had; schema --id shows one.",
        ("schema_id", "update_time", "primary_keys", "partition_keys", "comment"),
    ),
    "options": ("The options that are stored in the table; --known lists all that there are.", ()),
    "consumers": ("The consumers, and the snapshot that each reads next.", ()),
}
"""Of each system table: the help of its command, and the columns of its text; none: all. JSON, CSV: all."""

_OF_A_STATE = ("files", "partitions", "buckets")
_OLDEST_FIRST = ("snapshots", "schemas")


def list_rows(
    name: str,
    path: str,
    options: dict[str, str],
    columns: str | None,
    where: str | None,
    limit: int | None,
    output: RowsOutput,
) -> None:
    """Prints a system table. name: of it; the others are the arguments of the command."""
    shown = SHOWN[name][1] or None if output is RowsOutput.TEXT else None
    scan = find_system_scan(path, name, options, parse_columns(columns) or shown, where)
    batches = scan.to_batches()
    if limit and name in _OLDEST_FIRST:
        found = pa.Table.from_batches(batches, scan.arrow_schema)
        batches = iter(found.slice(max(found.num_rows - limit, 0)).to_batches())
    if output is RowsOutput.JSON:
        print_json(list(islice(json_rows(batches), limit or None)))
    elif output is RowsOutput.CSV:
        print_csv(scan.arrow_schema, batches, limit or None)
    else:
        header = columns_of(scan.arrow_schema)
        print_rows(header, islice(rows_of(batches, header), limit or None))


def _listing(name: str) -> Callable[..., None]:
    def of_now(
        path: TablePath,
        where: Where = None,
        columns: Columns = None,
        limit: Limit = None,
        branch: Branch = None,
        option: TableOptions = None,
        output: RowsFormat = RowsOutput.TEXT,
    ) -> None:
        list_rows(name, path, parse_options(option, branch), columns, where, limit, output)

    def of_a_state(
        path: TablePath,
        at: At = None,
        where: Where = None,
        columns: Columns = None,
        limit: Limit = None,
        branch: Branch = None,
        option: TableOptions = None,
        output: RowsFormat = RowsOutput.TEXT,
    ) -> None:
        options: dict[str, Any] = parse_options(option, branch)
        list_rows(name, path, {**options, **state_options(path, options, at)}, columns, where, limit, output)

    return of_a_state if name in _OF_A_STATE else of_now


for _name, (_help, _) in SHOWN.items():
    if _name != "options":  # options.py
        app.command(_name, help=_help)(_listing(_name))
