"""System tables equal those of Java 2.0.0 on every golden table, cell by cell: names, types and values.

Release 2.0.0 has no $file_indexes and no column `writer_version`; both came later and are tested elsewhere. Rows are
compared as a multiset. Bytes have no text in Java but an address, so those are left out. Java gives out more digits of
a TIMESTAMP(3) than the type has, and reads the JSON null of a comment as the word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jpype
import pytest
from genuine import Genuine
from java_system_tables import JavaTable, java_rows, java_tables
from support.oracles.comparing import comparable, comparable_rows
from support.tables.golden_tables import GoldenTable, golden_tables

from paimon_spark.catalogs.warehouse import find_warehouse_table
from paimon_spark.errors import PaimonError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import Root
from paimon_spark.store.open import find_system_table
from paimon_spark.store.system_tables.names import NAMES, ROW_TABLES
from paimon_spark.store.system_tables.table import SystemTable

LATER = {"file_indexes"}
SYS = ("tables", "partitions", "all_table_options")
# Java reads the timestamps of ORC files by the time zone of its JVM, here not that of the writer.
OTHER_ZONE = {"tz_orc_shanghai": ROW_TABLES}
LATER_COLUMNS = {
    "snapshots": ["writer_version"],
    "consumers": ["snapshots_behind", "rows_behind", "millis_behind"],  # of this package alone
}
BYTES = re.compile(r"\[B@[0-9a-f]+|X'[0-9A-F]*'")


def our_columns(table: SystemTable, name: str) -> list[tuple[str, str]]:
    later = LATER_COLUMNS.get(name, [])
    return [(field.name, type_sql(field.type)) for field in table.schema.fields if field.name not in later]


def our_rows(table: SystemTable, name: str) -> Counter[tuple[Any, ...]]:
    later = LATER_COLUMNS.get(name, [])
    return comparable(table.scan([c for c in table.schema.names if c not in later]).to_arrow())


def without_bytes(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    made: Counter[tuple[Any, ...]] = Counter()
    for row, count in rows.items():
        made[tuple(BYTES.sub("bytes", cell) if isinstance(cell, str) else cell for cell in row)] += count
    return made


def as_declared(
    name: str, columns: Sequence[tuple[str, str]], rows: Sequence[tuple[Any, ...]]
) -> Counter[tuple[Any, ...]]:
    types = [parse_type(t) for _, t in columns]
    if name not in ROW_TABLES:
        millis = [t.root is Root.TIMESTAMP for t in types]
        rows = [tuple(v and v - v % 10**6 if cut else v for v, cut in zip(r, millis, strict=True)) for r in rows]
    if name == "snapshots":  # Flink writes the lowest number for no watermark, and Java shows that
        rows = [tuple(None if v == -(2**63) else v for v in r) for r in rows]
    if name == "schemas":
        rows = [tuple(None if v == "null" else v for v in r) for r in rows]
    return comparable_rows(rows, types)


@pytest.mark.parametrize("golden", golden_tables(), ids=str)
def test_system_tables_are_those_of_java(golden: GoldenTable, java: Genuine, tmp_path: Path) -> None:
    """Where Java cannot read a table we say so too; where we alone refuse, it is the rows, not the metadata."""
    path = str(golden.unpack(tmp_path))
    left_out = LATER | set(OTHER_ZONE.get(golden.name, ()))
    assert different_tables(java, path, [name for name in NAMES if name not in left_out]) == {}


@pytest.mark.parametrize("branch", ["br1", "br_empty"])
@pytest.mark.parametrize("golden", [t for t in golden_tables() if "rows_branch_br1" in t.expectation()], ids=str)
def test_those_of_a_branch_too(golden: GoldenTable, branch: str, java: Genuine, tmp_path: Path) -> None:
    path = str(golden.unpack(tmp_path))
    assert different_tables(java, path, [name for name in NAMES if name not in LATER], branch) == {}


def different_tables(java: Genuine, path: str, asked: Sequence[str], branch: str = "main") -> dict[str, Any]:
    """The system tables that Java and we do not have alike, with what is different."""
    different: dict[str, Any] = {}
    for name, theirs in java.run(java_tables, path, asked, branch).items():
        try:
            ours = find_system_table(f"{path}$branch_{branch}${name}")
            assert ours is not None
            have = our_columns(ours, name), without_bytes(our_rows(ours, name))
        except PaimonError as error:
            if isinstance(theirs, str) or (name in ROW_TABLES and isinstance(error, UnsupportedFeature)):
                continue
            raise
        if isinstance(theirs, str):
            different[name] = theirs
        elif have[0] != theirs[0]:
            different[name] = (have[0], theirs[0])
        else:
            want = without_bytes(as_declared(name, *theirs))
            if have[1] != want:
                different[name] = (list((have[1] - want).items())[:2], list((want - have[1]).items())[:2])
    return different


def java_catalog_tables(paimon: Any, warehouse: str, names: Sequence[str]) -> dict[str, JavaTable]:
    options = paimon.options.Options.fromMap(jpype.java.util.HashMap({"warehouse": warehouse}))
    catalog = paimon.catalog.CatalogFactory.createCatalog(paimon.catalog.CatalogContext.create(options))
    sys = {name: catalog.getTable(paimon.catalog.Identifier.create("sys", name)) for name in names}
    return {name: java_rows(paimon, table) for name, table in sys.items()}


def test_the_database_sys_is_that_of_java(java: Genuine, tmp_path: Path) -> None:
    """All of Java's tables but `catalog_options`, which it has for a catalog of its own options only."""
    warehouse = tmp_path / "lake"
    for writer, name in (("java-2.1", "append_part"), ("java-2.1", "pk_dv"), ("java-0.9", "pk_part_buckets")):
        database = re.sub("[-.]", "_", writer)  # Java takes a dot for the end of the name
        GoldenTable(writer, name).unpack(tmp_path / name).rename(_made(warehouse / f"{database}.db") / name)
    for name, theirs in java.run(java_catalog_tables, str(warehouse), SYS).items():
        ours = find_warehouse_table(f"{warehouse}/sys.db/{name}")
        assert ours is not None
        assert [(f.name, type_sql(f.type)) for f in ours.schema.fields] == theirs[0]
        rows = [tuple(v.removeprefix("file:") if isinstance(v, str) else v for v in row) for row in theirs[1]]
        assert comparable(ours.scan().to_arrow()) == Counter(rows)


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder
