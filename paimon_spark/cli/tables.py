"""Rows for people: a table that fits its terminal, or one record after the other where it cannot."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any, TypeVar

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from paimon_spark.cli.arguments import Output
from paimon_spark.cli.messages import output_of_done_work
from paimon_spark.cli.texts import printable, size_text
from paimon_spark.cli.values import cell, is_number, json_rows
from paimon_spark.store.reporting.result import Result

R = TypeVar("R", bound=Result)
PAGE = 500
"""Rows that are laid out at once; the first page fixes the widths of all."""

_NARROWEST = 8  # a column that had to be narrower says nothing
_GAP = 3
_NO_TERMINAL = 1_000_000_000  # characters of a line that goes to a file or another program, where nothing is cut


@dataclass(frozen=True)
class Column:
    """A column of a table for people.

    Attributes:
        is_right: whether it is aligned to the right.
        is_size: its numbers are bytes and shown as KiB, MiB, ...
        is_path: the ends of its texts say most.
    """

    name: str
    is_right: bool = False
    is_size: bool = False
    is_path: bool = False


Row = Sequence[str | None]


def columns_of(schema: pa.Schema) -> list[Column]:
    """The columns of rows with this schema."""
    return [Column(f.name, is_number(f.type), f.name.endswith("_in_bytes"), f.name.endswith("_path")) for f in schema]


def rows_of(batches: Iterable[pa.RecordBatch], columns: Sequence[Column]) -> Iterator[Row]:
    """The cells of batches."""
    for row in json_rows(batches):
        yield [_cell(column, value) for column, value in zip(columns, row.values(), strict=True)]


def print_rows(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """Prints a table on stdout, page by page."""
    console = stdout_console()
    left = iter(rows)
    page = list(islice(left, PAGE))
    widths = [_width(column, [row[i] for row in page]) for i, column in enumerate(columns)]
    fitted = _fitted(widths, console.width)
    layout = _Layout(console, columns, fitted or widths)
    print_page = layout.print_records if fitted is None else layout.print_table
    print_page(page)
    while page := list(islice(left, PAGE)):
        print_page(page)


def print_records(columns: Sequence[Column], rows: Iterable[Row]) -> None:
    """Prints one row after the other on stdout: a line for each column, of which nothing is cut."""
    _Layout(stdout_console(), columns, ()).print_records(list(rows))


def print_text(text: str) -> None:
    """Prints a text of several lines on stdout as it is, but for what could move the cursor."""
    print("\n".join(printable(line) for line in text.splitlines()))


def print_whole(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Prints a small table on stdout, of which nothing is cut: long cells go on below themselves."""
    table = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(text)) for text in row))
    stdout_console().print(table)


def print_json(value: Any) -> None:
    """Prints one document on stdout."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def print_result(result: R, words: Callable[[R], str], output: Output) -> None:
    """Prints what was done: in words, or all its fields as JSON."""
    with output_of_done_work(not getattr(result, "dry_run", False)):
        if output is Output.JSON:
            print_json(asdict(result))
        else:
            print(words(result))


def print_json_lines(rows: Iterable[Any]) -> None:
    """Prints one document a line."""
    for row in rows:
        print(json.dumps(row, ensure_ascii=False))


def print_pairs(pairs: Iterable[tuple[str, str]], console: Console | None = None) -> None:
    """Prints names and what belongs to them, in two columns; long texts go on below themselves."""
    grid = RichTable.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(Text(name), Text(printable(value)))
    (console or stdout_console()).print(grid)


def stdout_console() -> Console:
    """Stdout for rich: as wide as the terminal, or of any width where there is none."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _NO_TERMINAL
    return _Console(file=sys.stdout, width=width, highlight=False)


class _Console(Console):
    """Leaves it to the program how to end when nobody reads."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


@dataclass
class _Layout:
    """A table whose widths are fixed; numbers of records and whether there is a head yet."""

    console: Console
    columns: Sequence[Column]
    widths: Sequence[int]
    printed: int = field(default=0)

    def print_table(self, page: Sequence[Row]) -> None:
        table = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=self.printed == 0)
        for column, width in zip(self.columns, self.widths, strict=True):
            justify: Any = "right" if column.is_right else "left"
            table.add_column(Text(column.name), justify=justify, no_wrap=True, overflow="ellipsis", width=width)
        for row in page:
            table.add_row(*map(_text, row, self.columns, self.widths))
        self.console.print(table)
        self.printed += len(page)

    def print_records(self, page: Sequence[Row]) -> None:
        for row in page:
            self.printed += 1
            self.console.print(Text(f"row {self.printed}", style="dim"))
            named = zip(self.columns, row, strict=True)
            print_pairs(((column.name, "NULL" if value is None else value) for column, value in named), self.console)


def _text(value: str | None, column: Column, width: int) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    return Text(f"…{value[1 - width :]}" if column.is_path and cell_len(value) > width else value)


def _cell(column: Column, value: Any) -> str | None:
    return size_text(value) if column.is_size and isinstance(value, int) else cell(value)


def _width(column: Column, cells: Iterable[str | None]) -> int:
    return max([cell_len(column.name), *(4 if value is None else cell_len(value) for value in cells)])


def _fitted(widths: Sequence[int], room: int) -> list[int] | None:
    """The widths with the widest ones cut down to fit; None: then nothing could be read."""
    room -= _GAP * (len(widths) - 1)
    limit = min(max(widths, default=0), max(room, 0))
    while sum(min(width, limit) for width in widths) > room:
        limit -= 1
        if limit < _NARROWEST:
            return None
    return [min(width, limit) for width in widths]
