"""Random histories of one format table that this release and Java 2.0.0 write in turn, and a model of its rows."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from genuine import Genuine
from java_object_tables import overwrite_by_java, write_by_java
from java_rest import rows_by_java
from random_tables import VALUES

from paimon_spark.arrow.types import arrow_schema, from_internal, to_internal
from paimon_spark.store.file_tables.format_table import FormatTable

FORMATS = ("parquet", "orc", "csv", "json", "text")
CODECS = {
    "parquet": ("", "snappy", "zstd", "gzip", "none"),
    "orc": ("", "zstd", "snappy", "none"),
    "csv": ("", "none", "gzip", "bzip2", "deflate", "snappy", "lz4"),
    "json": ("", "none", "gzip", "bzip2", "deflate", "snappy", "lz4"),
    "text": ("",),
}
"""Java names compressed files of text as if they were not. Its zstd of lines needs a library that PySpark lacks."""
PARTITIONS: dict[str, list[Any]] = {
    "STRING": ["a", "b c", "ä=%/", None],
    "INT": [0, -1, 7, None],
    "BOOLEAN": [True, False, None],
}
_LOST_IN_LINES = {"csv": ("", " "), "json": (), "text": ("", None)}
"""Texts that Java's writer writes and its reader finds as others."""


@dataclass
class History:
    """A table as it is drawn, and its rows.

    Attributes:
        columns: types by name, the partition columns among them.
        values: what is drawn for each.
    """

    drawn: random.Random
    file_format: str
    columns: dict[str, str]
    keys: list[str]
    options: dict[str, str]
    values: dict[str, list[Any]]
    rows: list[tuple[Any, ...]] = field(default_factory=list)

    def some_rows(self) -> list[tuple[Any, ...]]:
        return [tuple(map(self._draw, self.columns)) for _ in range(self.drawn.randrange(1, 7))]

    def _draw(self, name: str) -> Any:
        return self.drawn.choice(self.values[name])

    def partition(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(value for name, value in zip(self.columns, row, strict=True) if name in self.keys)


IN_HIVE = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "DECIMAL(38, 10)"),
    *("STRING", "VARCHAR(20)", "CHAR(3)", "BYTES", "DATE", "TIMESTAMP(6)"),
)
"""Types that a metastore does not change."""


def new_history(seed: int, file_format: str, in_hive: bool = False) -> History:
    """A table drawn by a seed. in_hive: its partition columns are the last ones."""
    drawn = random.Random(f"{file_format} {seed}")
    kinds = (
        ["STRING"]
        if file_format == "text"
        else drawn.choices(list(IN_HIVE if in_hive else VALUES), k=drawn.randrange(1, 6))
    )
    columns = {f"c{place}": kind for place, kind in enumerate(kinds)}
    values = {name: _values(kind, file_format) for name, kind in columns.items()}
    keys = []
    for place in range(drawn.randrange(3)):
        kind = drawn.choice(list(PARTITIONS))
        columns[f"p{place}"], values[f"p{place}"] = kind, PARTITIONS[kind]
        keys.append(f"p{place}")
    names = list(columns) if in_hive else drawn.sample(list(columns), len(columns))
    options = {"type": "format-table", "file.format": file_format}
    if codec := drawn.choice(CODECS[file_format]):
        options[drawn.choice(["file.compression", "format-table.file.compression"])] = codec
    if drawn.random() < 0.4:
        options["format-table.partition-path-only-value"] = "true"
    if keys and not in_hive and drawn.random() < 0.4:
        options["metastore.partitioned-table"] = "true"
    if file_format == "csv":
        options |= drawn.choice(
            [{}, {"csv.field-delimiter": "|"}, {"csv.include-header": "true", "csv.quote-character": "'"}]
        )
    return History(drawn, file_format, {name: columns[name] for name in names}, keys, options, values)


def _values(kind: str, file_format: str) -> list[Any]:
    values = [*VALUES[kind], None]
    if file_format == "orc":  # statistics of Java take -0.0 for 0.0
        values = [value for value in values if repr(value) != "-0.0"]
    if file_format in _LOST_IN_LINES and kind.startswith(("STRING", "VARCHAR", "BYTES")):
        values = [value for value in values if value not in (*_LOST_IN_LINES[file_format], b"")]
    if kind == "BYTES" and file_format == "json":
        values = [*values, b""]
    return values


@dataclass(frozen=True)
class Sides:
    """Java's system and this one over one catalog."""

    java: Genuine
    options: Mapping[str, str]
    open: Callable[[str], FormatTable]

    def step(self, history: History, name: str) -> str:
        """One write by one of both, and the model after it; what was done."""
        drawn, rows = history.drawn, history.some_rows()
        ours, verb = drawn.random() < 0.6, drawn.choice(["append", "append", "dynamic", "static", "all"])
        if verb in ("dynamic", "static") and not history.keys:
            verb = "all"
        if verb == "static":
            of = history.partition(rows[0])
            rows = [row for row in rows if history.partition(row) == of]
            ours = ours or None in of
            history.rows = [row for row in history.rows if history.partition(row) != of]
        elif verb == "dynamic" or (verb == "all" and not ours):  # Java 2.0.0 leaves other partitions alone
            written = {history.partition(row) for row in rows}
            history.rows = [row for row in history.rows if history.partition(row) not in written]
        elif verb == "all":
            history.rows = []
        history.rows += rows
        table = self.open(name)
        if ours:
            self._write(history, table, rows, verb)
        elif verb == "append":
            self.java.run(write_by_java, self.options, "d", name, rows)
        else:
            static = dict(zip(_in_order(history), map(_text, history.partition(rows[0])), strict=True))
            static = static if verb == "static" else {}
            self.java.run(
                overwrite_by_java,
                self.options,
                "d",
                name,
                rows,
                {key: static[key] for key in history.keys if key in static},
            )
        return f"{'here' if ours else 'java'}: {verb} {rows}"

    def _write(self, history: History, table: Any, rows: Sequence[tuple[Any, ...]], verb: str) -> None:
        given = arrow_rows(table, rows)
        match verb:
            case "append":
                table.append(given)
            case "dynamic":
                table.dynamic_partition_overwrite(given)
            case "static":
                table.overwrite(given, _condition(history, rows[0]))
            case _:
                table.overwrite(given)

    def check(self, history: History, name: str) -> None:
        """Both readers find the rows of the model."""
        wanted = sorted(map(repr, history.rows))
        found = sorted(map(repr, self.java.run(rows_by_java, self.options, "d", name)))
        assert found == wanted, "Java"
        assert sorted(map(repr, internal_rows(self.open(name)))) == wanted


def arrow_rows(table: FormatTable, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    fields = table.schema.fields
    columns = [
        from_internal(list(column), one.type) for column, one in zip(zip(*rows, strict=True), fields, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=arrow_schema(fields))


def internal_rows(table: FormatTable) -> list[tuple[Any, ...]]:
    columns = [[to_internal(value) for value in column] for column in table.scan().to_arrow().columns]
    return list(zip(*columns, strict=True))


def _in_order(history: History) -> list[str]:
    return [name for name in history.columns if name in history.keys]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _condition(history: History, row: tuple[Any, ...]) -> str:
    parts = []
    for name, value in zip(_in_order(history), history.partition(row), strict=True):
        text = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else _text(value)
        parts.append(f"{name} IS NULL" if value is None else f"{name} = {text}")
    return " AND ".join(parts)
