"""Java's FileCatalog and ours change one metastore in turns: both see the same, and err in the same cases.

``PAIMON_HIVE_HISTORIES`` sets how many histories of names are tried, ``PAIMON_CATALOG_LIVES`` how many of names and
data (each by its number as seed).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import java_hive
import java_jdbc
import pytest
from catalog_lives import Life, json_of, live
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable, spark_jars
from readers import telling
from support.long_runs import tries
from support.oracles.catalog_model import CatalogModel, apply, draw_change, state_of
from support.tables.catalog_tables import ORDERS, append, append_rows, ids_of, schema
from support.tables.hive_files import add_hive_table, write_file
from support.tables.hive_names import hive_change
from test_catalog_like_java import JAVA_ERRORS, needs_a_missing_database, words

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.file_catalog import FileCatalog
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.views import View
from paimon_spark.errors import CatalogUnavailable, PaimonError
from paimon_spark.format.paths import escape
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import format_field, parse_type
from paimon_spark.format.types import DataField
from paimon_spark.store.clean.truncate import drop_partitions
from paimon_spark.store.history.tag_deletion import delete_tags
from paimon_spark.store.history.tags import create_tag
from paimon_spark.store.metadata.alter import set_option
from paimon_spark.store.upkeep.partition_done import mark_partition_done

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_HIVE_HISTORIES", ci=3, long=200)
STEPS = 25
LIVES, LIFE_STEPS = tries("PAIMON_CATALOG_LIVES", ci=1, long=200), 20
TYPES = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 2)", "CHAR(7)", "CHAR(300)"),
    *("VARCHAR(9)", "VARCHAR(70000)", "STRING", "BINARY(3)", "VARBINARY(5)", "BYTES", "DATE", "TIME(3)"),
    *("TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "ARRAY<INT>", "MAP<STRING, DECIMAL(3, 1)>"),
    *("MULTISET<STRING>", "ROW<a INT, b ARRAY<ROW<c DATE, d STRING>>>"),
)
BY_TIME = {"transient_lastDdlTime", "totalSize", "numFiles", "path"}
"""What the metastore adds to the parameters, and the place."""


@pytest.fixture(scope="module")
def java() -> Iterator[Genuine]:
    """Java Paimon 2.0.0 with Hive's client."""
    try:
        with java_process("2.0.0", jars=spark_jars(*java_hive.JARS)) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def options(hive_options: dict[str, str]) -> dict[str, str]:
    """Java would show an older state from its cache."""
    return {**hive_options, "cache-enabled": "false"}


@pytest.fixture
def hive(options: dict[str, str]) -> FileCatalog:
    made = open_catalog(options)
    assert isinstance(made.names, HiveNames)
    made.create_database("shop")
    return made


def without_default(state: dict[str, Any]) -> dict[str, Any]:
    return {name: tables for name, tables in state.items() if name != "default"}


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history(seed: int, java: Genuine, options: dict[str, str], tmp_path: Path) -> None:
    draw, ours, model, log = random.Random(seed), open_catalog(options), CatalogModel({}), []
    with telling(log):
        for _ in range(STEPS):
            change = hive_change(draw_change(draw))
            is_lost = change.kind == "drop_table" and change.table.database not in model.databases
            if is_lost or needs_a_missing_database(change, model):  # Java fails without a name for it
                continue
            by_java = draw.random() < 0.5
            log.append(f"{'Java' if by_java else 'we'}: {change}")
            expected = model.apply(change)
            if by_java:
                error = java.run(java_jdbc.change, options, change.kind, words(change))
                assert error == (expected and JAVA_ERRORS[expected.__name__])
            else:
                assert apply(ours, change) is expected
        assert without_default(state_of(ours)) == model.databases
        assert without_default(java.run(java_jdbc.state, options)) == model.databases
        for database, tables in model.databases.items():
            for table in tables:
                name = Identifier(database, table)
                place = java.run(java_hive.location, options, str(name))
                assert ours.table_location(name) == f"file:{tmp_path}/lake/{database}.db/{table}" == place


@pytest.mark.parametrize("seed", range(LIVES))
def test_any_life(seed: int, java: Genuine, options: dict[str, str]) -> None:
    """Names, options, columns, rows, partitions and views, seen alike by both after each step."""
    life = Life(random.Random(seed), {"metastore.partitioned-table": "true"})
    live(life, open_catalog(options), java, options, LIFE_STEPS, after=lambda step: None)


def all_types() -> TableSchema:
    fields = [
        DataField(0, f"c{n}", parse_type(text), f"comment {n}" if n % 2 else None) for n, text in enumerate(TYPES)
    ]
    numbered, highest = assign_field_ids(fields)
    options = {"bucket": "2", "file.format": "parquet", "hive.note": "n", "partition.expiration-time": "9 d"}
    return TableSchema(0, tuple(numbered), highest, (), (), {**options, "bucket-key": "c3"}, "of all types")


def partitioned() -> TableSchema:
    columns = {"day": "STRING NOT NULL", "id": "BIGINT NOT NULL", "hour": "INT NOT NULL", "v": "STRING"}
    fields = [DataField(n, name, parse_type(text)) for n, (name, text) in enumerate(columns.items())]
    return TableSchema(0, tuple(fields), 3, ("day", "hour"), ("day", "hour", "id"), {"bucket": "1"})


def plain(told: dict[str, Any]) -> dict[str, Any]:
    return {**told, "parameters": {k: v for k, v in told["parameters"].items() if k not in BY_TIME}}


@pytest.mark.parametrize("more", [{}, {"sync-all-properties": "false"}, {"table.type": "external"}])
@pytest.mark.parametrize("make", [all_types, partitioned])
def test_what_the_metastore_gets(
    make: Any, more: dict[str, str], java: Genuine, hive: FileCatalog, options: dict[str, str]
) -> None:
    """A table of Java's and one of ours with the same columns, made and altered."""
    both, made = {**options, **more}, make()
    ours = open_catalog(both)
    java.run(java_hive.create_table, both, "shop.theirs", json_of(made))
    ours.create_table(Identifier("shop", "ours"), made)
    assert plain(java.run(java_hive.told, both, "shop.ours")) == plain(java.run(java_hive.told, both, "shop.theirs"))
    java.run(java_jdbc.set_option, both, "shop.theirs", "snapshot.num-retained.max", "50")
    set_option(ours.load_table(Identifier("shop", "ours")), "snapshot.num-retained.max", "50")
    assert plain(java.run(java_hive.told, both, "shop.ours")) == plain(java.run(java_hive.told, both, "shop.theirs"))


def test_rows_options_and_repair(java: Genuine, hive: FileCatalog, options: dict[str, str]) -> None:
    hive.create_table(ORDERS, schema())
    append(hive.load_table(ORDERS), 1)
    java.run(java_jdbc.set_option, options, "shop.orders", "file.format", "orc")
    java.run(java_jdbc.add_rows, options, "shop.orders", 10, 2)
    set_option(hive.load_table(ORDERS), "snapshot.num-retained.max", "50")
    append(hive.load_table(ORDERS), 2)
    assert ids_of(hive.load_table(ORDERS)) == [1, 2, 10, 11]
    wanted = {"file.format": "orc", "snapshot.num-retained.max": "50"}
    assert without_default(java.run(java_jdbc.state, options)) == {"shop": {"orders": wanted}}
    before = java.run(java_hive.told, options, "shop.orders")
    java.run(java_jdbc.repair, options)
    hive.repair()
    assert plain(java.run(java_hive.told, options, "shop.orders")) == plain(before)
    java.run(java_hive.add_column, options, "shop.orders", "more")
    assert hive.load_table(ORDERS).schema.names == ("id", "more")


def test_databases(java: Genuine, hive: FileCatalog, options: dict[str, str], tmp_path: Path) -> None:
    hive.create_database("depot", {"comment": "c", "owner": "us", "a": "1", "location": f"{tmp_path}/place"})
    told = java.run(java_jdbc.database_properties, options, "depot")
    assert told == {"comment": "c", "owner": "us", "a": "1", "location": f"file:{tmp_path}/place"}
    java.run(java_jdbc.alter_database, options, "depot", "a", "2")
    java.run(java_jdbc.alter_database, options, "depot", "b", "3")
    assert dict(hive.load_database("depot").properties)["a"] == "2"
    hive.alter_database("depot", {"c": "4"}, ("b",))
    assert {k: v for k, v in java.run(java_jdbc.database_properties, options, "depot").items() if k in "abc"} == {
        "a": "2",
        "c": "4",
    }


def view(query: str, **options: str) -> View:
    numbered, _ = assign_field_ids([DataField(0, f"c{n}", parse_type(text)) for n, text in enumerate(TYPES[:24])])
    return View(tuple(numbered), query, {}, "comment", options)


def seen(catalog: Catalog, database: str) -> dict[str, object]:
    """As java_jdbc.views, without what depends on time."""
    found = {}
    for name in catalog.list_views(database):
        one = catalog.load_view(Identifier(database, name))
        columns = [(f.name, str(format_field(f)["type"]), f.id) for f in one.fields]
        found[name] = (one.query, columns, one.comment, {k: v for k, v in one.options.items() if k not in BY_TIME})
    return found


def test_views(java: Genuine, hive: FileCatalog, options: dict[str, str]) -> None:
    """A view of ours and one of Java's with the same columns."""
    made = view("SELECT 'ü' AS \"x\"", k="v")
    hive.create_view(Identifier("shop", "ours"), made)
    told = {"fields": [format_field(f) for f in made.fields], "query": made.query, "dialects": {}, "comment": "comment"}
    words = {"view": {**told, "options": {"k": "v"}}, "ignore": False}
    assert java.run(java_jdbc.change_view, options, "create", "shop.theirs", words) is None
    found = seen(hive, "shop")
    assert found["ours"] == found["theirs"]
    theirs = java.run(java_jdbc.views, options, "shop")
    assert sorted(theirs) == ["ours", "theirs"]
    for one in theirs.values():
        query, dialects, columns, comment, kept = one
        assert (query, dialects, comment, kept["k"]) == (made.query, {}, "comment", "v")
        assert [(name, number) for name, _, number in columns] == [
            (name, number) for name, _, number in found["ours"][1]
        ]
    rename = {"to": "shop.renamed", "ignore": False}
    assert java.run(java_jdbc.change_view, options, "rename", "shop.ours", rename) is None
    hive.rename_view(Identifier("shop", "theirs"), Identifier("shop", "w"))
    assert hive.list_views("shop") == ["renamed", "w"] == sorted(java.run(java_jdbc.views, options, "shop"))
    assert java.run(java_jdbc.change_view, options, "drop", "shop.w", {"ignore": False}) is None
    hive.drop_view(Identifier("shop", "renamed"))
    assert java.run(java_jdbc.views, options, "shop") == {}


def test_each_heeds_the_lock_of_the_other(java: Genuine, options: dict[str, str]) -> None:
    locked = {**options, "lock.enabled": "true", "lock-acquire-timeout": "300 ms", "lock-check-max-sleep": "100 ms"}
    ours = open_catalog(locked)
    ours.create_database("shop")
    ours.create_table(ORDERS, schema())
    number = java.run(java_hive.hold_lock, options, "shop", "orders")
    with pytest.raises((CatalogUnavailable, PaimonError, OSError), match="others have held the lock"):
        append(ours.load_table(ORDERS), 1)
    java.run(java_hive.release_lock, options, number)
    append(ours.load_table(ORDERS), 2)
    java.run(java_jdbc.add_rows, locked, "shop.orders", 5, 1)
    assert ids_of(ours.load_table(ORDERS)) == [2, 5]


def test_tables_of_java_are_ours(java: Genuine, hive: FileCatalog, options: dict[str, str]) -> None:
    made = dataclasses.replace(partitioned(), comment="theirs")
    java.run(java_hive.create_table, options, "shop.theirs", json_of(made))
    name = Identifier("shop", "theirs")
    found = hive.load_table(name).schema
    assert (found.fields, found.partition_keys, found.primary_keys, found.comment) == (
        made.fields,
        made.partition_keys,
        made.primary_keys,
        "theirs",
    )
    hive.rename_table(name, ORDERS)
    hive.drop_table(ORDERS)
    assert without_default(java.run(java_jdbc.state, options)) == {"shop": {}}


PARTED = TableSchema(
    0,
    (
        DataField(0, "id", parse_type("BIGINT")),
        DataField(1, "day", parse_type("STRING")),
        DataField(2, "hour", parse_type("INT")),
    ),
    2,
    ("day", "hour"),
    (),
    {"metastore.partitioned-table": "true", "partition.mark-done-action": "done-partition,mark-event"},
)


@pytest.mark.parametrize("seed", range(max(2, COUNT // 4)))
def test_partitions(seed: int, java: Genuine, hive: FileCatalog, options: dict[str, str]) -> None:
    """Both sides do the same, each to a table of its own; which is which changes with each step."""
    draw, log = random.Random(seed), list[str]()
    names = ["shop.one", "shop.two"]
    hive.create_table(Identifier.parse(names[0]), PARTED)
    java.run(java_hive.create_table, options, names[1], json_of(PARTED))
    live: set[tuple[str, int]] = set()
    with telling(log):
        for _ in range(8):
            draw.shuffle(names)
            ours, theirs = hive.load_table(Identifier.parse(names[0])), names[1]
            kind, place = draw.choice(["add", "add", "add", "drop", "mark"]), (draw.choice("ab/ü"), draw.randrange(2))
            spec = {"day": place[0], "hour": str(place[1])}
            log.append(f"{kind} {place} ours: {names[0]}")
            if kind == "add":
                live.add(place)
                append_rows(ours, {"id": [1], "day": [place[0]], "hour": [place[1]]})
                java.run(java_hive.add_parted, options, theirs, [(1, *place)])
            elif place not in live:
                continue
            elif kind == "drop":
                live.discard(place)
                drop_partitions(ours, f"day = '{place[0]}' AND hour = {place[1]}")
                java.run(java_hive.drop_partitions, options, theirs, [spec])
            else:
                mark_partition_done(ours, [spec])
                java.run(java_hive.mark_done, options, theirs, f"day={escape(place[0])}/hour={place[1]}/")
        one, two = (java.run(java_hive.partitions, options, name) for name in ("shop.one", "shop.two"))
        assert {k: (p.replace("/one/", "/two/"), done) for k, (p, done) in one.items()} == two
        assert {"/".join(values) for values in ((day, str(hour)) for day, hour in live)} <= two.keys()


def test_tags(java: Genuine, hive: FileCatalog, options: dict[str, str]) -> None:
    hive.create_table(ORDERS, schema(**{"metastore.tag-to-partition": "dt"}))
    append(hive.load_table(ORDERS), 1)
    create_tag(hive.load_table(ORDERS), "ours")
    append(hive.load_table(ORDERS), 2)
    java.run(java_hive.create_tag, options, "shop.orders", "theirs")
    place = hive.table_location(ORDERS)
    assert java.run(java_hive.partitions, options, "shop.orders") == {
        "ours": (f"{place}/dt=ours", False),
        "theirs": (f"{place}/dt=theirs", False),
    }
    delete_tags(hive.load_table(ORDERS), "theirs")
    java.run(java_hive.delete_tag, options, "shop.orders", "ours")
    assert java.run(java_hive.partitions, options, "shop.orders") == {}


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_migrations(
    file_format: str, java: Genuine, hive: FileCatalog, options: dict[str, str], tmp_path: Path
) -> None:
    """Each side takes a table of its own over; both see the same rows in both."""
    for name in ("ours", "theirs"):
        place = tmp_path / "hive" / name
        for number, day in enumerate(["a b", "c", "__HIVE_DEFAULT_PARTITION__"]):
            write_file(place / f"day={day}" / "000000_0", file_format, {"id": [number], "name": ["x"]})
        days = [["a b"], ["c"], ["__HIVE_DEFAULT_PARTITION__"]]
        add_hive_table(
            hive.names.metastore, Identifier("shop", name), place, file_format, keys={"day": "string"}, partitions=days
        )
    hive.migrate_table(Identifier("shop", "ours"), Identifier("shop", "one"))
    java.run(java_hive.migrate, options, "shop.theirs", "shop.two")
    found = {}
    for name in ("one", "two"):
        table = hive.load_table(Identifier("shop", name))
        found[name] = sorted(table.scan().to_arrow().to_pylist(), key=repr)
        path = table.location.removeprefix("file:")
        assert sorted((list(row) for _, row in java.read(path)), key=repr) == sorted(
            (list(row.values()) for row in found[name]), key=repr
        )
        assert table.schema.options == {"partition.default-name": "__HIVE_DEFAULT_PARTITION__"}
    assert found["one"] == found["two"]
    assert len(found["one"]) == 3
