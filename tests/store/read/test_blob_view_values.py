"""Views of blobs: their bytes, what is read to follow them, and what statements and copies make of them.

``tests/interop/test_blob_views_like_java.py`` compares where they lead with Java.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.oracles.checker import check_table

from paimon_spark import BlobDescriptor, BlobView, check, create_table, open_catalog, open_table
from paimon_spark.arrow.blob_views import decode_views, find_no_view
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import CorruptFile, DataError, MissingRow, UnsupportedFeature

EVOLVED = {"row-tracking.enabled": "true", "data-evolution.enabled": "true", "deletion-vectors.enabled": "true"}
VIEW = bytes.fromhex(
    "01 57454956424f4c42 05000000 642e c3b6 78 07000000 0201000000000000"
)  # of d.öx, column 7, row 258


def view(row: int, column: int = 1, table: str = "d.up") -> bytes:
    return BlobView(table, column, row).encode()


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    """A table with three files of two rows, and one with views of it, from which any column may be missing."""
    made = open_catalog(str(tmp_path / "lake"))
    made.create_database("d")
    made.new_table("d.up", {"id": "INT", "b": "BLOB"}, options=EVOLVED)
    for first in (0, 2, 4):
        made["d.up"].append(pa.table({"id": [first, first + 1], "b": [b"%d" % first, b"%d" % (first + 1)]}))
    columns = {"id": "INT", "n": "INT", "r": "BLOB"}
    made.new_table("d.v", columns, options={**EVOLVED, "blob-view-field": "r"})
    return made


def append(catalog: Catalog, *values: bytes | None) -> None:
    count = len(values)
    rows = {"id": range(count), "n": [0] * count, "r": pa.array(values, pa.binary())}
    open_table(catalog.table_location(Identifier("d", "v"))).append(pa.table(rows))


def read(catalog: Catalog, where: str | None = None, **options: str) -> list[Any]:
    table = catalog.load_table(Identifier("d", "v"), options)
    return table.scan(["r"], where).to_arrow()["r"].to_pylist()


def test_the_bytes_of_a_view() -> None:
    assert BlobView("d.öx", 7, 258).encode() == VIEW
    found = decode_views(pa.array([VIEW, view(2**40, 3, "e.a.b"), VIEW]), "a test")
    assert (found.names, found.table.tolist()) == (("d.öx", "e.a.b"), [0, 1, 0])
    assert (found.field_ids.tolist(), found.row_ids.tolist()) == ([7, 3, 7], [258, 2**40, 258])
    for name in ("t", ".t", "d.", "unknown.t"):
        with pytest.raises(DataError, match=r"give its name as <database>\.<table>"):
            BlobView(name, 1, 1).encode()


NO_VIEWS = [
    b"", b"\1", VIEW[:9], VIEW[:12], VIEW[:-1], VIEW + b"x", b"\2" + VIEW[1:],
    VIEW[:9] + struct.pack("<i", -1) + VIEW[13:],
    VIEW[:9] + struct.pack("<i", 0) + VIEW[18:], VIEW[:9] + struct.pack("<i", 2**31 - 1) + VIEW[13:],
    BlobDescriptor("/x").encode(),
]  # fmt: skip


@pytest.mark.parametrize("value", NO_VIEWS)
def test_what_is_no_view(value: bytes) -> None:
    assert find_no_view(pa.array([VIEW, None, value, VIEW])) == value
    with pytest.raises(CorruptFile, match=f"a value of {len(value)} bytes is no view"):
        decode_views(pa.array([VIEW, value]), "a test")


@pytest.mark.parametrize("name", [b"../d.t", b"d.a/b", b"d...", b"d", b"d.\xff", b".x", b"d.x\0", b"d.\\x"])
def test_a_name_leads_out_of_no_catalog(name: bytes, catalog: Catalog) -> None:
    append(catalog, VIEW[:9] + struct.pack("<i", len(name)) + name + VIEW[18:])
    with pytest.raises(CorruptFile, match=r"reading column 'r' of .*(made to reach other files|is not UTF-8)"):
        read(catalog)


def test_files_without_the_rows_are_not_read(catalog: Catalog, tmp_path: Path) -> None:
    append(catalog, view(3), view(2), None, view(3))
    whole = list((tmp_path / "lake" / "d.db" / "up").rglob("data-*"))
    assert len(whole) == 6
    kept = {file.file_name for split in catalog["d.up"].scan(where="id = 2").plan().splits for file in split.files}
    for file in whole:
        if file.name not in kept:
            file.unlink()
    assert read(catalog) == [b"3", b"2", None, b"3"]


def test_no_rows_and_no_views(catalog: Catalog) -> None:
    assert read(catalog) == []
    append(catalog, None, None)
    catalog.drop_table(Identifier("d", "up"))
    assert read(catalog) == [None, None]
    append(catalog, view(1))
    assert read(catalog, "id > 5") == []
    assert read(catalog, "r is null and n > 0") == []


def test_statements_follow_what_they_name(catalog: Catalog) -> None:
    """And nothing else: rows whose views lead nowhere can be changed, and given others."""
    append(catalog, view(0), view(1), view(99))
    table = catalog["d.v"]
    assert table.update("id < 2", {"n": pc.binary_length(pc.field("r")).cast(pa.int32())}).rows_updated == 2
    assert table.update("id = 2", {"n": 5}).rows_updated == 1
    with pytest.raises(MissingRow, match=r"leads to the row 99 of the table d\.up"):
        catalog["d.v"].update("true", {"n": pc.binary_length(pc.field("r")).cast(pa.int32())})
    assert catalog["d.v"].scan(["id", "n"]).to_arrow()["n"].to_pylist() == [1, 1, 5]
    merge = catalog["d.v"].merge(pa.table({"id": [2], "w": [view(5)]}), "source.id = target.id")
    merge.when_matched_update({"r": "source.w"}).execute()
    assert read(catalog) == [b"0", b"1", b"5"]
    assert catalog["d.v"].update("r is null", {"n": 9}).rows_updated == 0
    assert catalog["d.v"].delete("r is not null and id = 0").rows_deleted == 1
    assert read(catalog) == [b"1", b"5"]
    check_table(catalog.table_location(Identifier("d", "v")))


def test_changes_and_streams(catalog: Catalog) -> None:
    append(catalog, view(0), view(1))
    append(catalog, view(2), None)
    change = {"incremental-between": "1,2"}
    assert read(catalog, **change) == [b"2", None]
    assert sorted(read(catalog, **change, **{"incremental-between-scan-mode": "diff"}), key=str) == [None, b"2"]
    catalog["d.up"].update("id = 2", {"b": pc.scalar(pa.scalar(None, pa.binary()))})
    changes = catalog.load_table(Identifier("d", "v"), {**change, "incremental-between-scan-mode": "diff"})
    assert changes.scan(["id", "r"], "r is null").to_arrow()["id"].to_pylist() == [0, 1]
    assert changes.scan(["id", "r"], "r is not null").count() == 0
    catalog["d.v"].update("true", {"n": 3})
    between = {"incremental-between": "2,3", "incremental-between-scan-mode": "diff"}
    changes = catalog.load_table(Identifier("d", "v"), between)
    assert changes.scan(["id", "n"], "r is null").to_arrow().sort_by("id").to_pylist() == [
        {"id": 0, "n": 3}, {"id": 1, "n": 3}
    ]  # fmt: skip
    rows = [row for batch in catalog["d.v"].stream() for row in batch.to_arrow()["r"].to_pylist()]
    assert sorted(rows, key=str) == [None, None, b"0", b"1"]
    append(catalog, view(2))
    rows = [row for batch in catalog["d.v"].stream("r", "r is null") for row in batch.to_arrow()["r"].to_pylist()]
    assert rows == [None, None, None]
    assert read(catalog, "r is null") == [None, None, None]


def test_a_table_by_its_path_is_changed_but_for_what_its_views_lead_to(catalog: Catalog) -> None:
    append(catalog, view(0), view(1), None)
    table = open_table(catalog.table_location(Identifier("d", "v")))
    assert table.update("id = 1", {"n": 4}).rows_updated == 1
    assert table.delete("id = 0").rows_deleted == 1
    assert table.scan(["id", "n"]).to_arrow().to_pylist() == [{"id": 1, "n": 4}, {"id": 2, "n": 0}]
    assert read(catalog) == [b"1", None]
    for statement in (lambda: table.delete("r is null"), lambda: table.stream("r"), lambda: table.scan("r")):
        with pytest.raises(UnsupportedFeature, match="opened by its path, which tells of no catalog"):
            statement()


@pytest.mark.parametrize("upstream", ["d.up", "d.nothing"])
def test_no_row_has_a_number_below_0(catalog: Catalog, upstream: str) -> None:
    """Nor is another row read for it where the table has none of the rows that are looked for."""
    catalog.new_table("d.nothing", {"id": "INT", "b": "BLOB"}, options=EVOLVED)
    append(catalog, view(-1, table=upstream), view(0), view(1))
    with pytest.raises(MissingRow, match=rf"leads to the row -1 of the table {upstream}"):
        read(catalog)
    append(catalog, view(-1, table="d.nothing"), view(-1, table="d.nothing"))
    with pytest.raises(MissingRow, match="leads to the row -1"):
        read(catalog, **{"incremental-between": "1,2"})


def test_null_in_a_column_that_must_have_values(catalog: Catalog) -> None:
    catalog["d.up"].append(pa.table({"id": [9], "b": pa.array([None], pa.binary())}))
    catalog.new_table("d.w", {"id": "INT", "r": "BLOB NOT NULL"}, options={**EVOLVED, "blob-view-field": "r"})
    catalog["d.w"].append(pa.table({"id": [1], "r": [view(6)]}))
    with pytest.raises(MissingRow, match="a view in the NOT NULL column 'r' leads to a NULL"):
        catalog["d.w"].scan().to_arrow()


def test_a_value_that_is_no_view_is_found(catalog: Catalog, tmp_path: Path) -> None:
    """As Java writes where a reference is given; it does not read it either."""
    options = {**EVOLVED, "blob-descriptor-field": "r"}
    catalog.new_table("d.w", {"id": "INT", "r": "BLOB"}, options=options)
    catalog["d.w"].append(pa.table({"id": [1], "r": [BlobDescriptor("/x").encode()]}))
    schema = tmp_path / "lake" / "d.db" / "w" / "schema" / "schema-0"
    schema.write_text(schema.read_text().replace("blob-descriptor-field", "blob-view-field"))
    assert json.loads(schema.read_text())["options"]["blob-view-field"] == "r"
    with pytest.raises(CorruptFile, match="a value of 31 bytes is no view of a blob in another table"):
        catalog["d.w"].scan().to_arrow()
    (problem,) = check(catalog.table_location(Identifier("d", "w"))).problems
    assert "a value of 31 bytes in the column 'r' of 'blob-view-field' is no view" in str(problem)


def test_keyed_tables_have_no_views(catalog: Catalog) -> None:
    with pytest.raises(UnsupportedFeature, match=r"'blob-view-field' is 'r', .* with a primary key"):
        catalog.new_table("d.w", {"id": "INT", "r": "BLOB"}, "id", options={"blob-view-field": "r"})


def test_a_view_has_the_numbers_of_a_column_and_a_row() -> None:
    with pytest.raises(DataError, match=r"its field_id is 'photo'; give a whole number: schema\.by_name"):
        BlobView("d.t", "photo", 1).encode()  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"its row_id is None; give a whole number: .*_ROW_ID of a scan"):
        BlobView("d.t", 1, None).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize("reference", [BlobView("d.t", 1, 1), BlobDescriptor("/a")])
def test_a_reference_that_is_not_encoded_is_told(reference: object, tmp_path: Path) -> None:
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = create_table(str(tmp_path / "t"), {"id": "INT", "page": "BLOB"}, options=options)
    with pytest.raises(DataError, match=rf"; give the value encode\(\) of a {type(reference).__name__}$"):
        table.append({"id": [1], "page": [reference]})
