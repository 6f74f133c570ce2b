"""Opening a catalog: its options are those of Java, Flink and pypaimon, checked by name and value."""

from __future__ import annotations

from pathlib import Path

import pytest

from paimon_spark import open_catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import OptionError, UnsupportedFeature


def test_a_text_is_the_warehouse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for warehouse in ("lake", f"{tmp_path}/lake/", f"file:{tmp_path}/lake"):
        location = open_catalog(warehouse).table_location(Identifier("d", "t"))
        assert location.removeprefix("file:") == f"{tmp_path}/lake.db/d/t".replace("lake.db/d", "lake/d.db")
    assert list(tmp_path.iterdir()) == [], "opening creates nothing"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", r"is '': expected letters"),
        ("a.b", r"is 'a\.b': expected"),
        ("/lake", "the name and the warehouse swapped"),
    ],
)
def test_a_name_that_is_none_is_refused(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=words):
        open_catalog(str(tmp_path), name)


def test_a_file_is_no_warehouse(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file")
    for warehouse in (f"{tmp_path}/lake", f"file:{tmp_path}/lake"):
        with pytest.raises(OptionError, match=r"the warehouse \S*lake of the catalog is a file: give the directory"):
            open_catalog(warehouse)


def test_options_of_other_clients_are_taken(tmp_path: Path) -> None:
    catalog = open_catalog(
        {
            "warehouse": str(tmp_path),
            "metastore": "filesystem",
            "cache-enabled": "true",
            "cache.expire-after-access": "5 min",
            "cache.expiration-interval": "1 min",
            "lock.enabled": "true",
            "table.type": "managed",
            "case-sensitive": "false",
            "defaultDatabase": "shop",
            "s3.endpoint": "http://localhost:1",
            "table-default.file.format": "orc",
        },
        name="lake",
    )
    assert (catalog.name, catalog.default_database, catalog.case_sensitive) == ("lake", "shop", False)
    assert catalog.table_options() == {"s3.endpoint": "http://localhost:1", "catalog.warehouse": str(tmp_path)}
    plain = open_catalog(str(tmp_path))
    assert (plain.name, plain.default_database, plain.case_sensitive) == ("paimon", "default", True)
    assert not open_catalog({"warehouse": str(tmp_path), "allow-upper-case": "false"}).case_sensitive


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "'warehouse' of the catalog is missing"),
        ({"warehouse": " "}, "'warehouse' of the catalog is missing"),
        ({"metastore": "glue"}, "'glue': expected filesystem, hive, jdbc"),
        ({"ware-house": "/x"}, "'ware-house' of the catalog is not known; did you mean 'warehouse'"),
        ({"Warehouse": "/x"}, "did you mean 'warehouse'"),
        ({"s3.acess-key": "a"}, "'s3.acess-key' of the store is not known; did you mean 's3.access-key'"),
        ({"bucket": "1"}, "given as 'table-default.<option>'"),
        ({"cache-enabled": "yes"}, "'cache-enabled' of the catalog is 'yes': expected true or false"),
        ({"cache.expire-after-access": "soon"}, "'cache.expire-after-access' of the catalog is 'soon'"),
        ({"cache.expire-after-write": "0 s"}, "must be longer than nothing"),
        ({"table.type": "odd"}, "expected one of managed, external"),
        ({"uri": "http://rest.example:8080"}, "'uri' of the catalog is given, and 'metastore' does not say"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], words: str) -> None:
    given = options if {"warehouse", "metastore"} & options.keys() or not options else {"warehouse": "/w", **options}
    with pytest.raises(OptionError, match=words):
        open_catalog(given)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"table.type": "external"}, "'table.type' = 'external'"),
        ({"lock.type": "zookeeper"}, "'lock.type' = 'zookeeper'"),
    ],
)
def test_what_is_refused_by_name(options: dict[str, str], words: str) -> None:
    with pytest.raises(UnsupportedFeature, match=words):
        open_catalog({"warehouse": "/w", **options})


def test_identifiers() -> None:
    assert Identifier.parse("shop.a.b") == Identifier("shop", "a.b")
    assert str(Identifier("shop", "orders")) == "shop.orders"
    for text in ("orders", ".orders", "shop.", ""):
        with pytest.raises(OptionError, match=r"write <database>\.<table>"):
            Identifier.parse(text)
