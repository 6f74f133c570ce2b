"""Damaged and missing files: a named error or the right rows, never other rows and never another exception."""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.oracles.comparing import Row, comparable
from support.tables.golden_tables import GoldenTable

from paimon_spark import open_table
from paimon_spark.arrow.types import arrow_schema
from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import CorruptFile, PaimonError
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.write.table_write import TableWrite

FIELDS = (
    DataField(0, "k", DataType(Root.INT, nullable=False)),
    DataField(1, "v", DataType(Root.INT)),
    DataField(2, "s", DataType(Root.VARCHAR, length=2**31 - 1)),
)
CUTS, FLIPS = 6, 20
JAVA = ("append_dv32", "pk_dv64")


def made(path: Path, file_format: str) -> Path:
    """A table of three overlapping runs."""
    create_table(str(path), TableSchema(0, FIELDS, 2, (), ("k",), {"bucket": "1", "file.format": file_format}))
    for turn in range(3):
        table = open_table(str(path))
        writer = TableWrite(table, f"user-{turn}")
        keys = np.arange(200, dtype=np.int32)
        texts = pa.array([f"text {i % 17} of {turn}" for i in range(200)])
        columns = [pa.array(keys + 50 * turn), pa.array(keys * turn), texts]
        writer.write(pa.record_batch(columns, schema=arrow_schema(FIELDS)))
        TableCommit(table, f"user-{turn}").append(writer.finish())
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("tables")
    found = {name: made(root / name, name) for name in ("parquet", "orc", "avro")}
    for name in JAVA:
        found[name] = GoldenTable("java-2.1", name).unpack(root / name)
    return found


def read(path: Path) -> Counter[Row]:
    return comparable(open_table(str(path)).scan().to_arrow())


def files(path: Path) -> Iterator[Path]:
    return (file for file in sorted(path.rglob("*")) if file.is_file())


def outcome(path: Path, good: Counter[Row]) -> str:
    try:
        return "right rows" if read(path) == good else "WRONG ROWS"
    except PaimonError as error:
        return type(error).__name__


@pytest.mark.parametrize("name", ["parquet", "orc", "avro", *JAVA])
def test_truncated_files(name: str, tables: dict[str, Path]) -> None:
    path, dice = tables[name], random.Random(1)
    good = read(path)
    found: Counter[str] = Counter()
    for file in files(path):
        whole = file.read_bytes()
        for length in {0, len(whole) - 1, *(dice.randrange(len(whole)) for _ in range(CUTS))}:
            file.write_bytes(whole[:length])
            found[outcome(path, good)] += 1
        file.write_bytes(whole)
    assert set(found) <= {"right rows", "CorruptFile"}
    assert found["CorruptFile"] > 30
    assert found["right rows"] > 10  # hints, and files that only old snapshots name


@pytest.mark.parametrize("name", ["parquet", "orc", "avro", *JAVA])
def test_flipped_bits(name: str, tables: dict[str, Path]) -> None:
    """What has a checksum: all that we write but ORC and Avro data files, and the index files of the Java system."""
    path, dice = tables[name], random.Random(2)
    good = read(path)
    found: Counter[str] = Counter()
    for file in files(path):
        if file.parent.name != "index" if name in JAVA else file.suffix in (".orc", ".avro"):
            continue
        whole = file.read_bytes()
        for _ in range(FLIPS):
            damaged = bytearray(whole)
            damaged[dice.randrange(len(whole))] ^= 1 << dice.randrange(8)
            file.write_bytes(damaged)
            found[outcome(path, good)] += 1
        file.write_bytes(whole)
    assert found["WRONG ROWS"] == 0
    assert found["CorruptFile"] > 8


@pytest.mark.parametrize("name", ["parquet", "append_dv32"])
def test_missing_files(name: str, tables: dict[str, Path], tmp_path: Path) -> None:
    good = read(tables[name])
    found: Counter[str] = Counter()
    for file in files(tables[name]):
        shutil.copytree(tables[name], tmp_path / "t", dirs_exist_ok=True)
        damaged = tmp_path / "t" / file.relative_to(tables[name])
        damaged.unlink()
        if damaged.parent.name in ("snapshot", "schema"):
            continue  # a table without them is an older or no table, which is right
        found[outcome(tmp_path / "t", good)] += 1
    assert set(found) <= {"right rows", "CorruptFile", "MissingFile"}
    assert found["MissingFile"] > 2


def test_a_missing_data_file_tells_what_to_do(tables: dict[str, Path], tmp_path: Path) -> None:
    path = shutil.copytree(tables["parquet"], tmp_path / "t")
    gone = next(path.glob("bucket-0/*.parquet"))
    gone.unlink()
    with pytest.raises(CorruptFile, match="does not exist") as error:
        read(path)
    assert str(gone) in str(error.value)
    assert "travel to a snapshot" in str(error.value)


def test_a_data_file_of_other_rows_is_no_replacement(tables: dict[str, Path], tmp_path: Path) -> None:
    """Right format, right columns, another number of rows than the manifest says."""
    path = shutil.copytree(tables["avro"], tmp_path / "t")
    table = open_table(str(path))
    writer = TableWrite(table, "another")
    writer.write(pa.record_batch([pa.array([1], pa.int32()), pa.nulls(1, pa.int32()), pa.nulls(1, pa.string())],
                                 schema=arrow_schema(FIELDS)))  # fmt: skip
    (message,) = writer.finish()
    other = path / "bucket-0" / message.new_files[0].file_name
    for file in path.glob("bucket-0/*.avro"):
        if file != other:
            shutil.copy(other, file)
    with pytest.raises(CorruptFile, match="holds 1 rows, the manifest says 200"):
        read(path)
