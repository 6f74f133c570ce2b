"""What differs between two states of a table, row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.cli.arguments import snapshot_id
from paimon_spark.cli.values import json_rows
from paimon_spark.errors import OptionError
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.schema import ROW_KIND
from paimon_spark.store.open import open_data_table
from paimon_spark.store.scan.table_scan import Scan

_PLACE = "_PLACE"  # of a row in its batch of the state before
_NUMBER = "_NUMBER"  # of a row of the state after, while its key is looked for in the state before
_BATCH = 4096
_START = "0"  # the state before the first commit


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
