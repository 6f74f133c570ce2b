"""Packs of bytes of BLOB columns of tables with a primary key: when they are filled, and by whom."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support.oracles.checker import check_table

from paimon_spark import BlobDescriptor, create_table, open_table
from paimon_spark.errors import MissingFile
from paimon_spark.store.rescale.rescale import rescale


def packs(path: str) -> list[Path]:
    return sorted(Path(path).rglob("*.managed.blob"))


@pytest.fixture
def path(tmp_path: Path) -> str:
    return made(tmp_path)


def made(tmp_path: Path, **options: str) -> str:
    path = str(tmp_path / "t")
    create_table(path, {"id": "INT", "b": "BLOB"}, primary_keys=["id"], options={"bucket": "1", **options})
    return path


def rows(values: dict[int, bytes | None]) -> pa.Table:
    columns = {"id": pa.array(list(values), pa.int32()), "b": pa.array(list(values.values()), pa.binary())}
    return pa.table(columns)


def found(path: str) -> dict[int, bytes]:
    return {row["id"]: row["b"] for row in open_table(path).scan().to_arrow().to_pylist()}


def test_deletes_and_nulls_fill_no_pack(path: str) -> None:
    open_table(path).append(rows({1: b"one", 2: None}))
    before = packs(path)
    assert len(before) == 1
    open_table(path).delete("id = 1")
    open_table(path).append(rows({3: None}))
    assert packs(path) == before
    open_table(path).compact()
    assert packs(path) == before
    assert found(path) == {2: None, 3: None}
    check_table(path)


def test_a_row_that_another_one_replaces_has_no_bytes(path: str) -> None:
    twice = pa.concat_tables([rows({1: b"x" * 1000}), rows({1: b"new"})])
    open_table(path).append(twice)
    assert [pack.stat().st_size for pack in packs(path)] == [3 + 16 + 1 + 5]
    assert found(path) == {1: b"new"}


def test_a_pack_ends_at_its_size(tmp_path: Path) -> None:
    path = made(tmp_path, **{"blob.target-file-size": "40 b"})
    open_table(path).append(rows(dict.fromkeys(range(5), b"x" * 10)))
    assert len(packs(path)) == 3
    assert found(path) == dict.fromkeys(range(5), b"x" * 10)
    check_table(path)


def test_a_write_that_fails_leaves_no_pack(path: str) -> None:
    lost = BlobDescriptor(f"{path}/lost").encode()
    with pytest.raises(MissingFile):
        open_table(path).append(rows({1: b"one", 2: lost}))
    assert not packs(path)
    assert found(path) == {}


def test_bytes_that_look_like_a_reference_are_moved_as_they_are(path: str, tmp_path: Path) -> None:
    """They come into a table only by a reference to them."""
    looks = BlobDescriptor("/nowhere/at/all").encode()
    (tmp_path / "source").write_bytes(looks)
    open_table(path).append(rows({1: BlobDescriptor(str(tmp_path / "source")).encode()}))
    assert found(path) == {1: looks}
    rescale(open_table(path), 2)
    assert found(path) == {1: looks}
    check_table(path)


@pytest.mark.parametrize("options", [{}, {"deletion-vectors.enabled": "true"}], ids=["merge", "vectors"])
def test_statements_keep_bytes_that_look_like_a_reference(options: dict[str, str], tmp_path: Path) -> None:
    """A statement that says nothing of a BLOB writes its bytes again, and does not follow them."""
    path = str(tmp_path / "t")
    create_table(
        path, {"id": "INT", "v": "STRING", "b": "BLOB", "a": "ARRAY<BLOB>"}, primary_keys=["id"],
        options={"bucket": "1", **options},
    )  # fmt: skip
    (tmp_path / "secret").write_bytes(b"secret")
    looks = BlobDescriptor(str(tmp_path / "secret")).encode()
    view = b"\x01" + (0x424C4F4256494557).to_bytes(8, "little") + b"?"
    (tmp_path / "looks").write_bytes(looks)
    (tmp_path / "view").write_bytes(view)
    of = {name: BlobDescriptor(str(tmp_path / name)).encode() for name in ("looks", "view")}
    names = ["id", "v", "b", "a"]
    given = [(1, "x", of["looks"], [of["view"], b"plain", None]), (2, "x", of["view"], None), (3, "x", b"plain", [])]
    expected = [(1, "x", looks, [view, b"plain", None]), (2, "x", view, None), (3, "x", b"plain", [])]
    types = pa.schema([("id", pa.int32()), ("v", pa.string()), ("b", pa.binary()), ("a", pa.list_(pa.binary()))])

    def state() -> list[tuple[object, ...]]:
        rows = open_table(path).scan().to_arrow().to_pylist()
        return sorted((tuple(row[name] for name in names) for row in rows), key=lambda row: row[0])

    open_table(path).append(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in given], types))
    assert state() == expected
    open_table(path).update("id > 0", {"v": "'new'"})
    assert state() == [(row[0], "new", *row[2:]) for row in expected]
    source = pa.table({"id": pa.array([1, 3], pa.int32()), "v": ["one", "three"]})
    open_table(path).merge(source, "id").when_matched_update({"v": "source.v"}).execute()
    assert [row[1:] for row in state()] == [
        (v, *row[2:]) for v, row in zip(["one", "new", "three"], expected, strict=True)
    ]
    open_table(path).update(pc.field("b") == pa.scalar(b"plain"), {"b": "X'00'"})
    assert [row[2] for row in state()] == [looks, view, b"\0"]
    open_table(path).update(pc.field("id") > 0, {"v": "'last'"})
    assert [row[1:3] for row in state()] == [("last", looks), ("last", view), ("last", b"\0")]
    check_table(path)


def test_statements_keep_the_references_of_a_column_of_references(tmp_path: Path) -> None:
    """`blob-descriptor-field`: bytes that nobody computes anything of are not read, and bytes would be refused."""
    path, source = made(tmp_path, **{"blob-descriptor-field": "b"}), tmp_path / "source"
    source.write_bytes(b"some bytes")
    reference = BlobDescriptor(str(source)).encode()
    with open_table(path).update_schema() as change:
        change.add_column("v", "INT")
    numbers = pa.array([1, 2, 3], pa.int32())
    open_table(path).append(pa.table({"id": numbers, "b": [reference] * 3, "v": pa.nulls(3, pa.int32())}))
    source.rename(tmp_path / "away")
    open_table(path).update("id = 1", {"v": "1"})
    coming = pa.table({"id": pa.array([2], pa.int32()), "v": pa.array([2], pa.int32())})
    open_table(path).merge(coming, "id").when_matched_update({"v": "source.v"}).execute()
    open_table(path).delete("id = 3")
    open_table(path).compact()
    (tmp_path / "away").rename(source)
    kept = open_table(path, {"blob-as-descriptor": "true"}).scan().to_arrow().to_pylist()
    assert kept == [{"id": number, "b": reference, "v": number} for number in (1, 2)]
    assert found(path) == {1: b"some bytes", 2: b"some bytes"}
    check_table(path)


def test_rows_without_a_bucket_fill_a_pack_once(tmp_path: Path) -> None:
    """Their bytes wait in files that are written again when the number of buckets is known."""
    path = made(tmp_path, bucket="-2")
    open_table(path).append(rows({key: bytes([key]) for key in range(9)}))
    assert {pack.parent.name[:7] for pack in packs(path)} == {"bucket-"}
    assert not [pack for pack in packs(path) if "postpone" in str(pack)]
    assert found(path) == {key: bytes([key]) for key in range(9)}
    check_table(path)
