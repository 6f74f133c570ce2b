"""``read``, ``count``, ``explain`` and ``diff``: rows of a table, how they are read, and what changed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from itertools import islice
from typing import Annotated, Any, Final

import typer

from paimon_spark.catalogs.warehouse import find_warehouse_table
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
    at_most_maxsize,
    current_zone,
    parse_columns,
    parse_options,
    state_options,
)
from paimon_spark.cli.changes import Change, find_changes
from paimon_spark.cli.messages import say
from paimon_spark.cli.tables import Column, Row, columns_of, print_json, print_json_lines, print_rows, rows_of
from paimon_spark.cli.texts import count_text
from paimon_spark.cli.values import cell, json_rows, print_csv
from paimon_spark.store.open import find_system_table, open_any_table, open_data_table
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.system_tables.names import NAMES, is_of_warehouse
from paimon_spark.store.system_tables.table import SystemScan

app: Final = typer.Typer()
SHOWN = 100
"""Rows that text shows by default; JSON and CSV have all of them."""
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=0,
        show_default=False,
        callback=at_most_maxsize,
        help=f"At most so many rows; text: {SHOWN}, 0 for all.",
    ),
]
Before = Annotated[
    str, typer.Argument(metavar="BEFORE", show_default=False, help="A snapshot id, a tag, or a time; 0: nothing yet.")
]
After = Annotated[
    str | None, typer.Argument(metavar="AFTER", show_default=False, help="Such a state too; else the latest.")
]


@app.command()
def read(
    path: TablePath,
    where: Where = None,
    columns: Columns = None,
    limit: Limit = None,
    at: At = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: RowsFormat = RowsOutput.TEXT,
) -> None:
    """Rows of a table, or of a system table ('PATH$manifests', 'LAKE/sys.db/tables').

    JSON is one object a line: DECIMAL as text, times in ISO 8601 (instants in the zone of the call, with its offset),
    bytes in base64. In CSV a null is an empty field, an empty text is "", and nested values are JSON.
    """
    scan = _scan(path, parse_options(option, branch), columns, where, at)
    batches = scan.to_batches()
    if output is RowsOutput.JSON:
        print_json_lines(islice(json_rows(batches), limit or None))
        return
    if output is RowsOutput.CSV:
        print_csv(scan.arrow_schema, batches, limit or None)
        return
    header = columns_of(scan.arrow_schema)
    shown = _Some(rows_of(batches, header), SHOWN if limit is None else limit)
    print_rows(header, shown)
    if shown.has_more and limit is None:
        say(f"the first {SHOWN} rows; --limit 0 shows all")


@app.command()
def explain(
    path: TablePath,
    where: Where = None,
    at: At = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """What a read would leave out: by partitions, buckets, statistics, file indexes.

    Only metadata and file indexes are read.
    """
    options = parse_options(option, branch)
    given = {**options, **state_options(path, options, at)}
    explanation = open_data_table(path, given, time_zone=current_zone()).scan(where=where).explain()
    if output is Output.JSON:
        print_json(None if explanation is None else asdict(explanation))
    else:
        print(explanation or "the table has no snapshot")


@app.command()
def count(
    path: TablePath,
    where: Where = None,
    at: At = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """The number of rows; from metadata alone where they are exact.

    'explain' tells which files must be read for it, and why.
    """
    options = parse_options(option, branch)
    given = {**options, **state_options(path, options, at)}
    found = open_any_table(path, given, time_zone=current_zone()).scan(where=where).count()
    if output is Output.JSON:
        print_json({"rows": found})
    else:
        print(found)


@app.command()
def diff(
    path: TablePath,
    before: Before,
    after: After = None,
    columns: Columns = None,
    limit: Limit = None,
    branch: Branch = None,
    option: TableOptions = None,
    output: OutputFormat = Output.TEXT,
) -> None:
    """What changed between two states: rows added, removed, changed.

    Rows of a table without primary key are compared as a whole: there a change is one row removed and one added. JSON
    is one object a line: change, row, and before where a row changed. All files are compared, those of level 0 too,
    which reads of tables with deletion vectors or first-row leave out until they are compacted.
    """
    options = parse_options(option, branch)
    changes = find_changes(path, options, before, after, parse_columns(columns))
    if output is Output.JSON:
        print_json_lines(islice((_json(change) for change in changes.rows()), limit or None))
        return
    header = [Column("change"), *columns_of(changes.schema)]
    found = list(changes.rows())
    shown = found[: (SHOWN if limit is None else limit) or None]
    print_rows(header, map(_cells, shown))
    counts = Counter(change.kind for change in found)
    text = ", ".join(f"{counts[kind]:,} {kind}" for kind in ("added", "removed", "changed"))
    say(text if len(shown) == len(found) else f"{text}; the first {count_text(len(shown), 'row')}, --limit 0 shows all")


def _scan(path: str, options: dict[str, str], columns: str | None, where: str | None, at: str | None) -> Any:
    """A read of what the path names: a table, or one of its system tables."""
    base, _, name = path.rstrip("/").rpartition("$")
    wanted: tuple[list[str] | None, str | None] = parse_columns(columns), where
    if name.lower() in NAMES:  # what else follows a $ is a branch, or the name of the directory
        given = {**options, **state_options(base, options, at)}
        system = find_system_table(path, given, time_zone=current_zone())
        if system is not None:
            found: Scan | SystemScan = replace(system, shows_instants=True).scan(*wanted)
            return found
    if at is None and is_of_warehouse(path):
        of_all_tables = find_warehouse_table(path, options, time_zone=current_zone())
        if of_all_tables is not None:
            return of_all_tables.scan(*wanted)
    given = {**options, **state_options(path, options, at)}
    return open_any_table(path, given, time_zone=current_zone()).scan(*wanted)


class _Some:
    """The first rows of many; limit 0: all."""

    def __init__(self, rows: Iterable[Row], limit: int) -> None:
        self._rows = iter(rows)
        self._limit = limit
        self.has_more = False

    def __iter__(self) -> Iterator[Row]:
        yield from islice(self._rows, self._limit or None)
        self.has_more = next(self._rows, None) is not None


def _json(change: Change) -> dict[str, Any]:
    document = {"change": change.kind, "row": change.row}
    return document if change.before is None else {**document, "before": change.before}


def _cells(change: Change) -> Row:
    """A changed value shows what it was: ``3 → 5``."""
    if change.before is None:
        return [change.kind, *map(cell, change.row.values())]
    pairs = ((cell(change.before[name]), cell(value)) for name, value in change.row.items())
    return [change.kind, *(new if old == new else f"{_shown(old)} → {_shown(new)}" for old, new in pairs)]


def _shown(text: str | None) -> str:
    return "NULL" if text is None else text
