"""Prints what a statement returns, as ``read`` prints rows."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_spark.cli.arguments import RowsOutput
from paimon_spark.cli.commands.rows import SHOWN
from paimon_spark.cli.messages import say
from paimon_spark.cli.tables import columns_of, print_json_lines, print_records, print_rows, print_text, rows_of
from paimon_spark.cli.texts import count_text, span_text
from paimon_spark.cli.values import json_rows, print_csv


@dataclass(frozen=True)
class Results:
    """How rows are printed.

    Attributes:
        limit: at most so many rows of a statement; 0: all; None: SHOWN as text, else all.
    """

    output: RowsOutput = RowsOutput.TEXT
    limit: int | None = None

    @property
    def wanted(self) -> int | None:
        """How many rows Spark is asked for; None: all. One more than text shows tells whether there are more."""
        if self.output is RowsOutput.TEXT and self.limit is None:
            return SHOWN + 1
        return self.limit or None

    def show(self, rows: pa.Table, millis: int, vertical: bool = False) -> None:
        """Prints the rows of a statement; on a terminal also how many there are, and how long it took.

        Args:
            vertical: as text, one row after the other, each column on a line of its own.
        """
        more = self.limit is None and self.output is RowsOutput.TEXT and rows.num_rows > SHOWN
        if rows.num_columns:
            self._print(rows.slice(0, SHOWN) if more else rows, vertical)
            sys.stdout.flush()
        if more:
            say(f"the first {SHOWN} rows; --limit 0 shows all")
        elif sys.stderr.isatty():
            what = count_text(rows.num_rows, "row") if rows.num_columns else "done"
            say(f"{what} ({span_text(millis)})")

    def _print(self, rows: pa.Table, vertical: bool) -> None:
        batches = rows.to_batches()
        if self.output is RowsOutput.JSON:
            print_json_lines(json_rows(batches))
        elif self.output is RowsOutput.CSV:
            print_csv(rows.schema, batches)
        elif (text := _only_text(rows)) is not None:
            print_text(text)
        else:
            header = columns_of(rows.schema)
            (print_records if vertical else print_rows)(header, rows_of(batches, header))


def _only_text(rows: pa.Table) -> str | None:
    """The text of several lines that is all there is, such as a plan or a statement that creates a table."""
    if rows.num_rows != 1 or rows.num_columns != 1:
        return None
    value: Any = rows.column(0)[0].as_py()
    return value if isinstance(value, str) and "\n" in value else None
