"""The catalog in a relational database, where another process does something between two steps of a call."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.tables.catalog_rows import properties, query
from support.tables.catalog_tables import ORDERS, append, ids_of, schema, with_store

from paimon_spark import open_catalog
from paimon_spark.catalogs.create import create_table
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.jdbc.database import RowTaken
from paimon_spark.catalogs.jdbc.publisher import JdbcPublisher
from paimon_spark.errors import CatalogUnavailable, DatabaseNotEmpty, TableAlreadyExists
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.schema import encode_schema
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.tables.open import open_table

BIG = Identifier("shop", "big")


def test_a_table_that_is_created_while_its_database_is_dropped(jdbc: FileCatalog, tmp_path: Path) -> None:
    """Without cascade its row stays, at whatever moment of the drop it is added."""
    creation = "INSERT OR IGNORE INTO paimon_tables VALUES ('jdbc', 'shop', 'late')"
    jdbc.list_databases()
    query(tmp_path, f"CREATE TRIGGER meanwhile AFTER DELETE ON paimon_database_properties BEGIN {creation}; END")
    with pytest.raises(DatabaseNotEmpty, match="it held a table or a view a moment ago; run this again"):
        jdbc.drop_database("shop")
    query(tmp_path, "DROP TRIGGER meanwhile")
    assert jdbc.load_database("shop").location == f"{tmp_path}/lake/shop.db", "all is as before"
    query(tmp_path, creation)
    with pytest.raises(DatabaseNotEmpty, match=r"1 tables \(late\)"):
        jdbc.drop_database("shop")
    query(tmp_path, "DELETE FROM paimon_tables")
    jdbc.drop_database("shop")
    assert jdbc.list_databases() == []


def test_a_table_that_is_created_while_all_tables_of_its_database_are_dropped(jdbc: FileCatalog) -> None:
    """It is dropped with its files too, which else would keep its name from use."""

    class Overtaken(LocalFileIO):
        def move_directory(self, path: str, target: str) -> bool:
            if path.endswith("/orders"):
                jdbc.create_table(BIG, schema())
            return super().move_directory(path, target)

    jdbc.create_table(ORDERS, schema())
    with_store(jdbc, Overtaken()).drop_database("shop", cascade=True)
    assert jdbc.list_databases() == []
    jdbc.create_database("shop")
    jdbc.create_table(BIG, schema())
    assert jdbc.list_tables("shop") == ["big"]


def test_a_table_that_another_process_creates_at_the_new_name_of_a_rename(jdbc: FileCatalog, tmp_path: Path) -> None:
    """Without a lock: its files come before the row of the rename, its row after it. Both tables stay."""

    class Overtaken(LocalFileIO):
        def make_directory(self, path: str) -> None:  # between the row and the files
            create_table(f"{path}/big", schema(bucket="2", **{"bucket-key": "id"}), LocalFileIO())
            with pytest.raises(RowTaken):
                unlocked.names.connection.rows.add_table(BIG, {})
            super().make_directory(path)

    unlocked = open_catalog({**jdbc.options, "lock.enabled": "false"})
    assert isinstance(unlocked, FileCatalog)
    unlocked.create_table(ORDERS, schema(**{"file.format": "orc"}))
    append(unlocked.load_table(ORDERS), 1)
    with pytest.raises(TableAlreadyExists):
        with_store(unlocked, Overtaken()).rename_table(ORDERS, BIG)
    assert jdbc.list_tables("shop") == ["big", "orders"]
    assert [ids_of(jdbc.load_table(name)) for name in (BIG, ORDERS)] == [[], [1]]
    stored = query(tmp_path, "SELECT table_name, property_key FROM paimon_table_properties ORDER BY 1, 2")
    assert stored == [("big", "bucket"), ("big", "bucket-key"), ("orders", "file.format")]


def test_the_copy_is_that_of_the_latest_schema(jdbc: FileCatalog, tmp_path: Path) -> None:
    """Another process, without a lock, publishes a later schema before the options of ours are copied."""
    jdbc.create_table(ORDERS, schema())
    outside = open_table(jdbc.table_location(ORDERS))

    class Overtaken(LocalFileIO):
        def create_if_absent(self, path: str, data: bytes) -> bool:
            created = super().create_if_absent(path, data)
            if path.endswith("/schema-1"):
                set_option(outside, "file.format", "avro")
            return created

    publisher = JdbcPublisher(jdbc.warehouse, jdbc.names.connection)
    changed = encode_schema(replace(outside.schema, id=1, options={"file.format": "orc"}))
    assert publisher.create_if_absent(Overtaken(), f"{jdbc.table_location(ORDERS)}/schema/schema-1", changed)
    assert properties(tmp_path) == {"file.format": "avro"}


def test_properties_that_another_process_writes_at_the_same_moment(jdbc: FileCatalog, tmp_path: Path) -> None:
    """Rows that come between our deletion and our insertion (READ COMMITTED) are replaced in the next try."""
    jdbc.create_table(ORDERS, schema())
    query(tmp_path, "CREATE TABLE rivals (left_over INT)")
    query(tmp_path, "INSERT INTO rivals VALUES (2)")
    cases = [
        ("paimon_database_properties", "'jdbc', 'shop', 'owner', 'them'"),
        ("paimon_table_properties", "'jdbc', 'shop', 'orders', 'file.format', 'avro'"),
    ]
    for table, row in cases:
        query(
            tmp_path,
            f"CREATE TRIGGER of_{table} BEFORE INSERT ON {table} WHEN (SELECT sum(left_over) FROM rivals) > 0 "
            f"AND NEW.property_value <> '{row.split(chr(39))[-2]}' BEGIN INSERT INTO {table} VALUES ({row}); END",
        )
    with pytest.raises(CatalogUnavailable, match="others change the same rows all the time; run this again"):
        jdbc.alter_database("shop", {"owner": "us"})
    with pytest.raises(CatalogUnavailable, match=r"has its new schema; only the copy .* CALL sys\.repair"):
        set_option(jdbc.load_table(ORDERS), "file.format", "orc")
    assert jdbc.load_table(ORDERS).schema.options == {"file.format": "orc"}
    query(tmp_path, "DELETE FROM rivals")
    jdbc.alter_database("shop", {"owner": "us"})
    assert jdbc.load_database("shop").properties == {"owner": "us"}


def test_two_names_with_one_lock(jdbc: FileCatalog) -> None:
    """The locks of `a`.`b.c` and `a.b`.`c` have one key; a rename does not wait for itself."""
    quick = open_catalog({**jdbc.options, "lock-acquire-timeout": "300 ms"})
    for name in ("a", "a.b"):
        quick.create_database(name)
    quick.create_table(Identifier("a", "b.c"), schema())
    quick.rename_table(Identifier("a", "b.c"), Identifier("a.b", "c"))
    assert (quick.list_tables("a"), quick.list_tables("a.b")) == ([], ["c"])


def test_two_names_that_the_database_takes_for_equal(jdbc: FileCatalog, tmp_path: Path) -> None:
    """As MySQL does."""
    query(tmp_path, "DROP TABLE paimon_distributed_locks")
    columns = "acquired_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL, expire_time_seconds BIGINT DEFAULT 0 NOT NULL"
    key = "lock_id VARCHAR(255) COLLATE NOCASE NOT NULL PRIMARY KEY"
    query(tmp_path, f"CREATE TABLE paimon_distributed_locks ({key}, {columns})")
    catalog = open_catalog({**jdbc.options, "lock-acquire-timeout": "300 ms"})
    catalog.create_table(ORDERS, schema())
    catalog.rename_table(ORDERS, Identifier("shop", "Orders"))
    assert catalog.list_tables("shop") == ["Orders"]
    assert query(tmp_path, "SELECT * FROM paimon_distributed_locks") == []
