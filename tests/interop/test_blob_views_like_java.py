"""Views of blobs: what Java writes we follow, what we write Java follows, to the same bytes, NULL or an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from genuine import Genuine
from java_views import read_views, write_views
from support.oracles.checker import check_table

from paimon_spark import BlobDescriptor, BlobView, open_catalog, open_table
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.errors import MissingRow, PaimonError, UnsupportedFeature

pytestmark = pytest.mark.interop

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
OF_VIEWS = {**EVOLVED, "blob-view-field": "r"}
KEPT = {"blob-view.resolve.enabled": "false"}
REFERENCES = {"blob-as-descriptor": "true"}
SOURCES = {"bytes": {}, "references": {"blob-descriptor-field": "b"}, "orc": {"file.format": "orc"}}


def lake(folder: Path, **source: str) -> Catalog:
    catalog = open_catalog(str(folder / "lake"))
    for database in ("d", "größe"):
        catalog.create_database(database)
    columns = {"id": "INT", "b": "BLOB", "c": "BLOB"}
    catalog.new_table("größe.a.b", columns, options={**EVOLVED, **source}, comment="a name with a dot")
    for name in ("d.v", "d.w"):
        catalog.new_table(name, {"id": "INT", "r": "BLOB"}, options=OF_VIEWS)
    return catalog


def fill(catalog: Catalog, folder: Path, is_reference: bool) -> None:
    (folder / "file").write_bytes(b"bytes of a file")
    first: bytes = BlobDescriptor(str(folder / "file"), 6, 2).encode() if is_reference else b"of"
    table = catalog["größe.a.b"]
    table.append(pa.table({"id": [1, 2], "b": [first, None], "c": [b"c1", b""]}))
    table.append(pa.table({"id": [3], "b": [first], "c": pa.array([None], pa.binary())}))


def append(catalog: Catalog, name: str, views: list[tuple[str, int, int] | None]) -> None:
    values = [None if view is None else BlobView(*view).encode() for view in views]
    table = catalog[name]
    start = table.scan("id").count()
    table.append(pa.table({"id": range(start, start + len(values)), "r": pa.array(values, pa.binary())}))


def ours(catalog: Catalog, name: str, **options: str) -> list[tuple[Any, ...]]:
    given = {key.replace("_", "-").replace("--", "."): value for key, value in options.items()}
    return [tuple(row.values()) for row in catalog.table(name, options=given).scan().to_arrow().to_pylist()]


@pytest.mark.parametrize("kind", SOURCES)
def test_views_lead_to_the_same_bytes(kind: str, java: Genuine, tmp_path: Path) -> None:
    catalog, warehouse = lake(tmp_path, **SOURCES[kind]), str(tmp_path / "lake")
    fill(catalog, tmp_path, is_reference=kind == "references")
    source = "größe.a.b"
    views = [(source, 1, 0), (source, 1, 1), (source, 2, 1), None, (source, 2, 2), (source, 2, 0), (source, 1, 0)]
    append(catalog, "d.v", views)
    java.run(write_views, warehouse, "d.v", [(7 + i, view) for i, view in enumerate(views)], ["r"])
    chained = [("d.v", 1, row) for row in range(14)]
    append(catalog, "d.w", chained)
    java.run(write_views, warehouse, "d.w", [(14 + i, view) for i, view in enumerate(chained)], ["r"])
    expected = [b"of", None, b"", None, None, b"c1", b"of"] * 2
    for name, values in (("d.v", expected), ("d.w", expected * 2)):
        found = ours(catalog, name)
        assert [row[1] for row in found] == values
        assert found == java.run(read_views, warehouse, name)
        for options in (KEPT, REFERENCES):
            table = catalog.table(name, options=options)
            rows = [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]
            theirs = java.run(read_views, warehouse, name, options)
            if options is REFERENCES:  # Java writes paths with a scheme
                rows, theirs = ([(k, None if v is None else v[-16:]) for k, v in each] for each in (rows, theirs))
            assert rows == theirs
        check_table(f"{warehouse}/{name.replace('.', '.db/')}")


def test_views_that_lead_nowhere(java: Genuine, tmp_path: Path) -> None:
    """Java has an error for each of them, and so have we; other rows of the table are read."""
    catalog, warehouse = lake(tmp_path), str(tmp_path / "lake")
    fill(catalog, tmp_path, is_reference=False)
    catalog.new_table("d.plain", {"id": "INT", "b": "BYTES"}, options={"row-tracking.enabled": "true"})
    catalog["d.plain"].append(pa.table({"id": [1], "b": [b"x"]}))
    catalog.new_table("d.keyed", {"id": "INT", "b": "BLOB"}, "id", options={"bucket": "1"})
    catalog["d.keyed"].append(pa.table({"id": [1], "b": [b"x"]}))
    source = "größe.a.b"
    wrong = [(source, 1, 3), (source, 0, 0), (source, 9, 0)]
    wrong += [(name, 1, 0) for name in ("d.none", "none.t", "d.plain", "d.keyed")]
    for number, view in enumerate(wrong):
        name = f"d.wrong{number}"
        catalog.new_table(name, {"id": "INT", "r": "BLOB"}, options=OF_VIEWS)
        append(catalog, name, [(source, 1, 0), view])
        assert isinstance(java.run(read_views, warehouse, name), str), view
        with pytest.raises(PaimonError, match=r"reading column 'r' of .*'blob-view.resolve.enabled' = 'false'"):
            ours(catalog, name)
        assert catalog[name].scan(["r"], "id = 0").to_arrow()["r"].to_pylist() == [b"of"]
        assert catalog[name].scan("id").count() == 2


def test_what_becomes_of_the_other_table(java: Genuine, tmp_path: Path) -> None:
    """New values, compactions and new columns are seen; deleted rows and dropped tables are missed."""
    catalog, warehouse = lake(tmp_path), str(tmp_path / "lake")
    fill(catalog, tmp_path, is_reference=False)
    source = "größe.a.b"
    append(catalog, "d.v", [(source, 1, 0), (source, 2, 1), (source, 1, 2)])

    def both(*values: bytes | None) -> None:
        assert [row[1] for row in ours(catalog, "d.v")] == list(values)
        assert ours(catalog, "d.v") == java.run(read_views, warehouse, "d.v")

    both(b"of", b"", b"of")
    catalog[source].update("id = 1", {"b": b"new"})
    both(b"new", b"", b"of")
    catalog[source].compact(full=True)
    both(b"new", b"", b"of")
    with catalog[source].update_schema() as change:
        change.add_column("more", "INT", first=True)
    both(b"new", b"", b"of")
    catalog["d.v"].compact(full=True)
    both(b"new", b"", b"of")
    catalog["d.v"].delete("id = 1")
    both(b"new", b"of")
    catalog["d.v"].update("id = 2", {"r": BlobView(source, 2, 0).encode()})
    both(b"new", b"c1")
    catalog[source].delete("id = 1")
    with pytest.raises(MissingRow, match="leads to the row 0 of the table"):
        ours(catalog, "d.v")
    assert "BlobViewStruct not found" in java.run(read_views, warehouse, "d.v")
    assert catalog["d.v"].scan("id").to_arrow()["id"].to_pylist() == [0, 2]


def test_a_circle(java: Genuine, tmp_path: Path) -> None:
    """Java follows it until its stack ends."""
    catalog = lake(tmp_path)
    append(catalog, "d.v", [("d.w", 1, 0)])
    append(catalog, "d.w", [("d.v", 1, 0)])
    with pytest.raises(PaimonError, match="more than 100 times, perhaps in a circle"):
        ours(catalog, "d.v")
    assert java.run(read_views, str(tmp_path / "lake"), "d.v", KEPT) == [(0, BlobView("d.w", 1, 0).encode())]


def test_views_by_path_stay_views(java: Genuine, tmp_path: Path) -> None:
    """Without a catalog Java gives the views themselves, and we do where they are asked for; see BlobViews."""
    catalog = lake(tmp_path)
    fill(catalog, tmp_path, is_reference=False)
    append(catalog, "d.v", [("größe.a.b", 1, 0), None])
    location = str(tmp_path / "lake" / "d.db" / "v")
    with pytest.raises(UnsupportedFeature, match="opened by its path, which tells of no catalog"):
        open_table(location).scan()
    assert open_table(location).scan("id").count() == 2
    view = BlobView("größe.a.b", 1, 0).encode()
    assert open_table(location, KEPT).scan("r").to_arrow()["r"].to_pylist() == [view, None]
    there = {"catalog.warehouse": str(tmp_path / "lake")}
    assert open_table(location, there).scan("r").to_arrow()["r"].to_pylist() == [b"of", None]
