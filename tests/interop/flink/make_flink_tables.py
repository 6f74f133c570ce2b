"""Makes the golden tables of Flink.

``PYTHONPATH=.:tests:tests/interop python tests/interop/flink/make_flink_tables.py [NAME ...]``: each is written by
statements of Flink SQL, with the connector of release 2.0.0, and what is expected of it is what Flink itself reads; of
columns that Flink's texts do not tell it is what the statement wrote. The files lie in
tests/golden/tables/flink-2.0.0, and INDEX.md gets a line for each.
"""

from __future__ import annotations

import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from flink_session import FlinkSession, flink_session
from support.paths import GOLDEN

WRITER = "flink-2.0.0"
KEYED = "k INT, v STRING, d DOUBLE, PRIMARY KEY (k) NOT ENFORCED"
FIRST = "(1, 'a', 1.5), (2, 'b', 2.5), (3, 'c', 3.5)"
SECOND = "(1, 'a2', 11.5), (4, 'd', 4.5)"
THIRD = "(3, 'c3', 33.5), (5, CAST(NULL AS STRING), CAST(NULL AS DOUBLE))"
STREAM = (
    "CREATE TEMPORARY TABLE counted (n BIGINT, ts AS TO_TIMESTAMP_LTZ(n * 600000, 3), "
    "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', "
    "'fields.n.start' = '0', 'fields.n.end' = '39', 'rows-per-second' = '10')"
)


@dataclass(frozen=True)
class Made:
    """A table: its columns, options, and the statements that fill it.

    Attributes:
        what: of INDEX.md.
        parts: behind the columns, such as PARTITIONED BY.
        statements: each is run as a stream to its end, so with one commit or more; those that begin with `batch:` by
            the batch mode. `T` is the table.
        stream: the query of a job that goes on with checkpoints, over `counted`; it comes before the statements.
        changelog: whether the changes of each snapshot are kept too.
        rows: what is expected, where Flink's texts do not tell.
        more: what else is done.
    """

    name: str
    what: str
    options: dict[str, str]
    statements: tuple[str, ...] = ()
    columns: str = KEYED
    parts: str = ""
    stream: str = ""
    changelog: bool = False
    rows: list[list[Any]] | None = None
    more: Callable[[FlinkSession, Path], None] | None = None
    keys: dict[str, str] = field(default_factory=dict)


def _values(*rows: str) -> tuple[str, ...]:
    return tuple(f"INSERT INTO T VALUES {row}" for row in rows)


def _consume(flink: FlinkSession, path: Path) -> None:
    """A stream with a consumer, until it has one."""
    flink.follow("consuming", f"SELECT * FROM d.{path.name} /*+ OPTIONS('consumer-id' = 'c1') */")
    end = time.monotonic() + 60
    while not (path / "consumer" / "consumer-c1").exists():
        assert time.monotonic() < end
        time.sleep(0.2)
    flink.cancel("consuming")


CHANGES = (*_values(FIRST, SECOND), "batch:UPDATE T SET v = 'new' WHERE k = 2", "batch:DELETE FROM T WHERE k = 3")
SUMS = {"merge-engine": "aggregation", "fields.v.aggregate-function": "last_non_null_value"}
SUMS["fields.d.aggregate-function"] = "sum"
PARTS = "k INT, g BIGINT, a STRING, b STRING, PRIMARY KEY (k) NOT ENFORCED"
PARTIAL = {"merge-engine": "partial-update", "fields.g.sequence-group": "a"}
PARTIAL_ROWS = _values(
    "(1, CAST(5 AS BIGINT), 'a5', CAST(NULL AS STRING)), (2, CAST(1 AS BIGINT), 'a1', 'b1')",
    "(1, CAST(3 AS BIGINT), 'a3', 'b3'), (2, CAST(NULL AS BIGINT), 'none', CAST(NULL AS STRING))",
    "(2, CAST(7 AS BIGINT), CAST(NULL AS STRING), 'b7'), (3, CAST(1 AS BIGINT), 'x', 'y')",
)
TYPES = (
    "i INT, bo BOOLEAN, ti TINYINT, sm SMALLINT, bi BIGINT, f FLOAT, d DOUBLE, de DECIMAL(20, 4), c CHAR(4), "
    "vc VARCHAR(20), s STRING, bn BINARY(3), vb VARBINARY(10), bs BYTES, da DATE, t TIME(3), ts0 TIMESTAMP(0), "
    "ts3 TIMESTAMP(3), ts6 TIMESTAMP(6), ts9 TIMESTAMP(9), lz3 TIMESTAMP_LTZ(3), lz6 TIMESTAMP_LTZ(6), "
    "ar ARRAY<INT>, m MAP<STRING, BIGINT>, r ROW<a INT, b ROW<c STRING, d ARRAY<STRING>>>, ms MULTISET<STRING>"
)
TYPED = (
    "INSERT INTO T SELECT 1, TRUE, CAST(-7 AS TINYINT), CAST(300 AS SMALLINT), 9007199254740993, CAST(1.25 AS FLOAT), "
    "CAST(-2.5 AS DOUBLE), CAST(-1234567.8901 AS DECIMAL(20, 4)), CAST('ab' AS CHAR(4)), CAST('hé' AS VARCHAR(20)), "
    "'a longer text 🙂', CAST(x'010203' AS BINARY(3)), CAST(x'ff00' AS VARBINARY(10)), x'00010203', "
    "DATE '2026-11-29', TIME '12:34:56.789', CAST(TIMESTAMP '2026-11-29 01:02:03' AS TIMESTAMP(0)), "
    "CAST(TIMESTAMP '1969-12-31 23:59:59.001' AS TIMESTAMP(3)), TIMESTAMP '2026-11-29 01:02:03.123456', "
    "CAST(TIMESTAMP '2026-11-29 01:02:03.123456789' AS TIMESTAMP(9)), TO_TIMESTAMP_LTZ(1764378123456, 3), "
    "CAST(TO_TIMESTAMP_LTZ(1764378123456, 3) AS TIMESTAMP_LTZ(6)), ARRAY[1, CAST(NULL AS INT), 3], "
    "MAP['x', CAST(1 AS BIGINT), 'y', CAST(NULL AS BIGINT)], CAST(ROW(5, ROW('c', ARRAY['p', 'q'])) AS "
    "ROW<a INT, b ROW<c STRING, d ARRAY<STRING>>>), CAST(NULL AS MULTISET<STRING>)"
)
TYPED_ROW: list[Any] = [
    *(1, True, -7, 300, 9007199254740993, 1.25, -2.5, "-1234567.8901", "ab  ", "hé", "a longer text 🙂"),
    *("0x010203", "0xff00", "0x00010203", 20786, 45296789, "2026-11-29T01:02:03", "1969-12-31T23:59:59.001"),
    *("2026-11-29T01:02:03.123456", "2026-11-29T01:02:03.123456789", "2025-11-29T01:02:03.456"),
    *("2025-11-29T01:02:03.456", [1, None, 3], {"map": [["x", 1], ["y", None]]}, [5, ["c", ["p", "q"]]], None),
]


def _types(format: str) -> Made:
    """Every data type of Flink that Paimon and the format have."""
    columns, statement, row = TYPES, TYPED, TYPED_ROW
    if format == "avro":  # has no nanoseconds
        columns = TYPES.replace(" ts9 TIMESTAMP(9),", "")
        statement = TYPED.replace(" CAST(TIMESTAMP '2026-11-29 01:02:03.123456789' AS TIMESTAMP(9)),", "")
        row = [value for value in TYPED_ROW if value != "2026-11-29T01:02:03.123456789"]
    if format == "orc":  # Flink reads a CHAR without its blanks, and the last second before the epoch one later
        read = {"ab  ": "ab", "1969-12-31T23:59:59.001": "1970-01-01T00:00:00.001"}
        row = [read.get(value, value) if isinstance(value, str) else value for value in TYPED_ROW]
    what = f"every data type of Flink that Paimon has, format {format}"
    options = {"bucket": "-1", "file.format": format}
    statements = (statement, "INSERT INTO T (i) VALUES (2)")
    return Made(f"types_{format}", what, options, statements, columns, rows=[row, [2, *[None] * (len(row) - 1)]])


TABLES = (
    Made(
        "stream_watermark",
        "a streaming job with checkpoints; watermarks in the snapshots, and tags made by watermark",
        {"bucket": "2", "tag.automatic-creation": "watermark", "tag.creation-period": "hourly"}
        | {"sink.watermark-time-zone": "UTC"},
        columns="k BIGINT, n BIGINT, ts TIMESTAMP_LTZ(3), PRIMARY KEY (k) NOT ENFORCED",
        stream="SELECT MOD(n, 7), n, ts FROM counted",
    ),
    Made(
        "stream_aggregation",
        "a streaming job; aggregation, changelog-producer=full-compaction at each commit",
        {"bucket": "1", "merge-engine": "aggregation", "fields.n.aggregate-function": "sum"}
        | {"changelog-producer": "full-compaction", "full-compaction.delta-commits": "1"},
        columns="k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED",
        stream="SELECT MOD(n, 5), n FROM counted",
        changelog=True,
    ),
    Made(
        "stream_vectors",
        "a streaming job that compacts with lookup; deletion vectors, then rows that wait for a compaction",
        {"bucket": "1", "deletion-vectors.enabled": "true", "num-sorted-run.compaction-trigger": "3"},
        columns="k BIGINT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED",
        stream="SELECT MOD(n * 3, 17), n FROM counted",
        statements=(
            "INSERT INTO T /*+ OPTIONS('write-only' = 'true') */ VALUES (CAST(3 AS BIGINT), CAST(-1 AS BIGINT))",
        ),
    ),
    Made(
        "write_only_vectors",
        "deletion vectors of a streaming job, which a dedicated compaction (CALL sys.compact) made",
        {"bucket": "1", "deletion-vectors.enabled": "true", "write-only": "true"},
        statements=(
            *_values(FIRST),
            "batch:CALL sys.compact(`table` => 'T')",
            *_values(SECOND),
            "batch:CALL sys.compact(`table` => 'T', compact_strategy => 'minor')",
            *_values(THIRD),
        ),
    ),
    Made(
        "cl_none", "changelog-producer=none, with UPDATE and DELETE of Flink", {"bucket": "1"}, CHANGES, changelog=True
    ),
    Made(
        "cl_input",
        "changelog-producer=input, with UPDATE and DELETE of Flink",
        {"bucket": "1", "changelog-producer": "input"},
        CHANGES,
        changelog=True,
    ),
    Made(
        "cl_lookup",
        "changelog-producer=lookup, with UPDATE and DELETE of Flink",
        {"bucket": "2", "changelog-producer": "lookup"},
        CHANGES,
        changelog=True,
    ),
    Made(
        "aggregation_lookup",
        "aggregation with changelog-producer=lookup",
        {**SUMS, "bucket": "1", "changelog-producer": "lookup"},
        _values(FIRST, SECOND, THIRD),
        changelog=True,
    ),
    Made(
        "partial_update",
        "partial-update with a sequence group, changelog-producer=lookup",
        {**PARTIAL, "bucket": "1", "changelog-producer": "lookup"},
        PARTIAL_ROWS,
        PARTS,
        changelog=True,
    ),
    Made(
        "partial_update_writeonly",
        "partial-update with a sequence group, write-only: files of level 0 only",
        {**PARTIAL, "bucket": "1", "write-only": "true"},
        PARTIAL_ROWS,
        PARTS,
    ),
    Made(
        "first_row",
        "first-row with changelog-producer=lookup",
        {"bucket": "1", "merge-engine": "first-row", "changelog-producer": "lookup"},
        _values(FIRST, SECOND, THIRD),
        changelog=True,
    ),
    Made(
        "sequence_and_rowkind",
        "sequence.field and rowkind.field",
        {"bucket": "1", "sequence.field": "n", "rowkind.field": "op"},
        _values("(1, 5, '+I'), (2, 5, '+I'), (3, 1, '+I')", "(1, 3, '+I'), (2, 6, '-D')", "(3, 2, '+U'), (4, 1, '-D')"),
        "k INT, n INT, op STRING, PRIMARY KEY (k) NOT ENFORCED",
    ),
    Made(
        "dynamic_bucket",
        "dynamic buckets of 4 keys each, in two partitions",
        {"bucket": "-1", "dynamic-bucket.target-row-num": "4"},
        stream="SELECT CAST(MOD(n, 20) AS INT), CASE WHEN MOD(n, 2) = 0 THEN 'even' ELSE 'odd' END, n FROM counted",
        columns="k INT, p STRING, n BIGINT, PRIMARY KEY (k, p) NOT ENFORCED",
        parts="PARTITIONED BY (p)",
    ),
    Made(
        "cross_partition",
        "a primary key without the partition key: keys that move to another partition",
        {"bucket": "-1"},
        _values("(1, 'x', 1.5), (2, 'x', 2.5)", "(1, 'y', 3.5), (3, 'y', 4.5)", "(1, 'x', 5.5)"),
        parts="PARTITIONED BY (v)",
    ),
    Made(
        "postpone",
        "postpone bucket: rows that CALL sys.compact put into buckets, and others that wait (and are not read)",
        {"bucket": "-2"},
        (*_values(FIRST, SECOND), "batch:CALL sys.compact(`table` => 'T')", *_values(THIRD)),
    ),
    Made(
        "append_partitioned",
        "an append table of a streaming job, unaware bucket, with INSERT OVERWRITE of a partition",
        {"bucket": "-1"},
        ("batch:INSERT OVERWRITE T PARTITION (p = 'odd') VALUES (CAST(-1 AS BIGINT)), (CAST(-3 AS BIGINT))",),
        stream="SELECT n, CASE WHEN MOD(n, 2) = 0 THEN 'even' ELSE 'odd' END FROM counted",
        columns="n BIGINT, p STRING",
        parts="PARTITIONED BY (p)",
    ),
    Made(
        "tags_branches",
        "a tag, a branch of it with rows of its own, an empty one, a consumer, statistics of ANALYZE TABLE",
        {"bucket": "1", "consumer.expiration-time": "1 d"},
        (
            *_values(FIRST),
            "batch:CALL sys.create_tag('T', 't1')",
            "batch:CALL sys.create_branch('T', 'br1', 't1')",
            "batch:CALL sys.create_branch('T', 'br_empty')",
            "INSERT INTO T$branch_br1 VALUES (100, 'branch', 1.5)",
            *_values(SECOND),
            "batch:ANALYZE TABLE T COMPUTE STATISTICS FOR ALL COLUMNS",
        ),
        more=_consume,
        keys={
            "rows_tag_t1": "SELECT * FROM T /*+ OPTIONS('scan.tag-name' = 't1') */",
            "rows_branch_br1": "SELECT * FROM T$branch_br1",
        },
    ),
    Made(
        "upper_case",
        "upper-case names, comments, a computed column and a watermark: the schema has them as options",
        {"bucket": "1"},
        ("INSERT INTO T VALUES (1, 'a', TIMESTAMP '2026-11-29 01:02:03.123'), (2, 'b', CAST(NULL AS TIMESTAMP(3)))",),
        "`ID` INT COMMENT 'the key', `Name` STRING COMMENT 'of a person', `at` TIMESTAMP(3), "
        "`upper` AS UPPER(`Name`), WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND, PRIMARY KEY (`ID`) NOT ENFORCED",
        rows=[[1, "a", "2026-11-29T01:02:03.123"], [2, "b", None]],
    ),
    Made(
        "schema_changes",
        "ALTER TABLE of Flink: ADD in a place, MODIFY a type, RENAME, DROP",
        {"bucket": "1"},
        (
            *_values(FIRST),
            "batch:ALTER TABLE T ADD (w INT COMMENT 'new' AFTER k)",
            "batch:ALTER TABLE T RENAME v TO name",
            "batch:ALTER TABLE T MODIFY w BIGINT",
            "INSERT INTO T VALUES (4, CAST(40 AS BIGINT), 'd', 4.5)",
            "batch:ALTER TABLE T DROP d",
            "INSERT INTO T VALUES (5, CAST(50 AS BIGINT), 'e')",
        ),
    ),
    *(_types(format) for format in ("parquet", "orc", "avro")),
)


def make(made: Made, flink: FlinkSession, warehouse: Path, folder: Path) -> None:
    """Writes the table, and puts it and what is expected of it into the folder."""
    options = {"file.format": "parquet", **made.options}
    words = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    flink.sql(f"CREATE TABLE d.{made.name} ({made.columns}) {made.parts} WITH ({words})")
    path = warehouse / "d.db" / made.name
    if made.stream:
        flink.start("stream", f"INSERT INTO d.{made.name} {made.stream}")
        flink.finish("stream")
    for statement in made.statements:
        run = flink.sql if statement.startswith("batch:") else flink.bounded
        run(_named(statement.removeprefix("batch:"), made.name))
    if made.more:
        made.more(flink, path)
    described = flink.sql(f"DESCRIBE d.{made.name}")
    # Computed columns are no columns of the table.
    fields = [(str(row[0]), str(row[1])) for _, row in described if row[4] is None]
    expected: dict[str, Any] = {"table": made.name, "writer": "Flink 2.0.0, paimon-flink 2.0.0", "what": made.what}
    types = [type_ for _, type_ in fields]
    everything = flink.sql(f"SELECT {', '.join(f'`{name}`' for name, _ in fields)} FROM d.{made.name}")
    told = [["+I", values] for values in made.rows] if made.rows else _rows(everything, types)
    assert len(told) == len(everything)
    expected["rows"] = told
    for key, query in made.keys.items():
        expected[key] = _rows(flink.sql(_named(query, made.name)), types)
    if made.changelog:
        expected["changelog"] = list(_changes(made, flink, path, types))
    expected |= {"columns": [name for name, _ in fields], "types": types, "options": options}
    expected["statements"] = [made.stream, *made.statements] if made.stream else [*made.statements]
    (folder / f"{made.name}.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    with tarfile.open(folder / f"{made.name}.tar.gz", "w:gz") as archive:
        archive.add(path, made.name)


def _named(statement: str, name: str) -> str:
    """The statement with the name of the table in place of T."""
    statement = statement.replace("'T'", f"'d.{name}'").replace("T$branch_br1", f"d.`{name}$branch_br1`")
    return " ".join(f"d.{name}" if word == "T" else word for word in statement.split(" "))


def _changes(made: Made, flink: FlinkSession, path: Path, types: list[str]) -> Any:
    last = int((path / "snapshot" / "LATEST").read_text())
    for number in range(1, last + 1):
        hint = f"/*+ OPTIONS('incremental-between' = '{number - 1},{number}') */"
        rows = [row for _, row in flink.sql(f"SELECT * FROM d.`{made.name}$audit_log` {hint}")]
        yield {"next": number + 1, "rows": [[row[0], _parsed(row[1:], types)] for row in rows]}


def _rows(rows: Any, types: list[str]) -> list[Any]:
    return sorted((["+I", _parsed(values, types)] for _, values in rows), key=str)


def _parsed(values: Any, types: list[str]) -> list[Any]:
    return [value if value is None else _value(str(value), type_) for value, type_ in zip(values, types, strict=True)]


def _value(text: str, type_: str) -> Any:
    if type_.startswith(("INT", "BIGINT")):
        return int(text)
    if type_.startswith("DOUBLE"):
        return float(text)
    if type_.startswith("DATE"):
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    return text.removesuffix("Z") if type_.startswith("TIMESTAMP") else text


def main(*names: str) -> None:
    """names: of the tables to make; none: all."""
    folder = GOLDEN / "tables" / WRITER
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        warehouse = Path(scratch)
        with flink_session(str(warehouse), warehouse / "flink.log") as flink:
            flink.sql("CREATE DATABASE d")
            flink.define(STREAM)
            for made in (made for made in TABLES if made.name in names or not names):
                make(made, flink, warehouse, folder)
    index = GOLDEN / "INDEX.md"
    lines = [line for line in index.read_text().splitlines() if not line.startswith(f"- {WRITER} / ")]
    lines += [f"- {WRITER} / {made.name}: {made.what}" for made in TABLES]
    index.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
