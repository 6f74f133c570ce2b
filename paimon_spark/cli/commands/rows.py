"""``read``, ``count``, ``explain`` and ``diff``: rows of a table, how they are read, and what changed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
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
    snapshot_id,
    state_options,
)
from paimon_spark.cli.messages import say
from paimon_spark.cli.tables import Column, Row, columns_of, print_json, print_json_lines, print_rows, rows_of
from paimon_spark.cli.texts import count_text
from paimon_spark.cli.values import cell, json_rows, print_csv
from paimon_spark.errors import OptionError
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import ROW_KIND
from paimon_spark.store.open import find_system_table, open_any_table, open_data_table
from paimon_spark.store.scan.table_scan import Scan
from paimon_spark.store.system_tables.names import NAMES, is_of_warehouse
from paimon_spark.store.system_tables.table import SystemScan

app = typer.Typer()
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
_PLACE = "_PLACE"  # of a row in its batch of the state before
_NUMBER = "_NUMBER"  # of a row of the state after, while its key is looked for in the state before
_BATCH = 4096
_START = "0"  # the state before the first commit


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


@dataclass(frozen=True)
class Change:
    """kind: added, removed or changed; row: as it is, or was if it is removed; before: as it was if it is changed."""

    kind: str
    row: dict[str, Any]
    before: dict[str, Any] | None = None


@dataclass(frozen=True)
class Changes:
    """The difference of two states.

    Attributes:
        schema: of its rows.
        keys: the primary key; without one a changed row is one that is removed and one that is added.
        after: the rows that differ, with their keys and `_row_kind`.
        before: reads the state before.
    """

    schema: pa.Schema
    keys: tuple[str, ...]
    after: pa.Table
    before: Scan | None

    def rows(self) -> Iterator[Change]:
        """The changes, those of a bucket together."""
        old = self._old_rows()
        number = 0
        for batch in self.after.to_batches(max_chunksize=_BATCH):
            kinds = batch.column(batch.schema.get_field_index(ROW_KIND)).to_pylist()
            for kind, row in zip(kinds, json_rows([batch.select(self.schema.names)]), strict=True):
                before = old.get(number)
                number += 1
                yield Change("removed" if kind == "-D" else "added" if before is None else "changed", row, before)

    def _old_rows(self) -> dict[int, dict[str, Any]]:
        """By the number of a row of the state after: what it was before, if its key was there."""
        if not self.keys or self.before is None:
            return {}
        numbers = pa.array(range(self.after.num_rows), pa.int64())
        wanted = self.after.select(self.keys).append_column(_NUMBER, numbers)
        wanted = wanted.filter(pc.not_equal(self.after.column(ROW_KIND), "-D"))
        if wanted.num_rows == 0:
            return {}
        found: dict[int, dict[str, Any]] = {}
        for batch in self.before.to_batches():
            keys = pa.table(batch.select(self.keys)).append_column(_PLACE, pa.array(range(batch.num_rows), pa.int64()))
            same = keys.join(wanted, list(self.keys), join_type="inner")
            rows = batch.select(self.schema.names).take(same.column(_PLACE).combine_chunks())
            found.update(zip(same.column(_NUMBER).to_pylist(), json_rows([rows]), strict=True))
        return found


def find_changes(
    path: str, options: dict[str, str], before: str, after: str | None, columns: Sequence[str] | None
) -> Changes:
    """Reads what differs between two states. Memory: the rows that differ.

    Args:
        path, options: of the table.
        before, after: a tag, a snapshot id (0: before the first commit) or a time, the older one first; after may be
            None: the latest.
        columns: those of the result; None: all.

    Raises:
        PaimonError: there is no such table, state or column.
    """
    first, last = (0 if state == _START else snapshot_id(path, options, state) for state in (before, after))
    if first > last:
        raise OptionError(f"AFTER is snapshot {last} and older than BEFORE, snapshot {first}: swap them")
    chosen = {
        ScanSettings.incremental_between.key: f"{first},{last}",
        ScanSettings.incremental_between_scan_mode.key: "diff",
    }
    table = open_data_table(path, {**options, **chosen})
    shown = table.scan(columns)
    names = [field.name for field in shown.fields]
    keys = table.schema.primary_keys
    read = list(dict.fromkeys([*names, *keys]))
    rows = table.scan(read, row_kinds=True).to_arrow()
    if first == 0:
        return Changes(shown.arrow_schema, keys, rows, None)
    then = {
        ScanSettings.snapshot_id.key: str(first),
        TableSettings.deletion_vectors_merge_on_read.key: "true",
    }  # level 0 changes too
    earlier = open_data_table(path, options).settings.merged(then)  # its rows in the columns of today
    return Changes(shown.arrow_schema, keys, rows, replace(table, settings=earlier).scan(read))
