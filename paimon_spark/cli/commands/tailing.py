"""``tail``: the rows of a table as they come."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Final

import pyarrow as pa
import typer

from paimon_spark.cli.arguments import (
    Branch,
    Columns,
    Output,
    OutputFormat,
    TableOptions,
    TablePath,
    Where,
    current_zone,
    parse_columns,
    parse_options,
)
from paimon_spark.cli.tables import columns_of, print_json_lines, print_rows, rows_of
from paimon_spark.cli.values import json_rows
from paimon_spark.store.open import open_data_table
from paimon_spark.store.stream_source.settings import split_stream_options
from paimon_spark.store.stream_source.stream_read import StreamRead, stream_read

app: Final = typer.Typer()
_LOOKS = 1.0  # seconds between two looks for a new snapshot

RowKinds = Annotated[
    bool, typer.Option("--row-kinds", help="Every change: a column _row_kind, and rows that take others back.")
]
UntilNow = Annotated[bool, typer.Option("--until-now", help="End at the latest snapshot, without waiting for more.")]


@app.command()
def tail(
    path: TablePath,
    where: Where = None,
    columns: Columns = None,
    row_kinds: RowKinds = False,
    until_now: UntilNow = False,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """Prints rows as they come, or every change; Ctrl-C ends it.

    It begins with the next snapshot: -o scan.mode=latest-full shows the state first, -o scan.snapshot-id=5 begins
    there. JSON is one object a line.
    """
    stream, others = split_stream_options({"scan.mode": "latest", **_given(parse_options(option, branch))})
    table = open_data_table(path, others, time_zone=current_zone())
    read = stream_read(table, stream, parse_columns(columns), where, row_kinds)
    for batch in _batches(read, until_now):
        if output is Output.JSON:
            print_json_lines(json_rows([batch]))
        else:
            header = columns_of(batch.schema)
            print_rows(header, rows_of([batch], header))


def _given(options: dict[str, str]) -> dict[str, str]:
    """The options of the call; one that says where to begin takes the place of the default."""
    begins = any(key.lower().startswith("scan.") and key.lower() != "scan.mode" for key in options)
    return {"scan.mode": "default", **options} if begins else options


def _batches(read: StreamRead, until_now: bool) -> Iterator[pa.RecordBatch]:
    stream = read.start()
    if until_now:
        stream.stop_at_latest()
    at = stream.first()
    while True:
        end = stream.next(at)
        for unit in stream.units(at, end):
            yield from read.reader.read(unit)
        if end == at and until_now:
            return
        if end == at:
            time.sleep(_LOOKS)
        at = end
