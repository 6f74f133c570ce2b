"""Making tables: one of several at once wins, a wrong path is not buried (Java: SchemaManager.createTable)."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, When
from support.programs.process_pool import process_pool

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import SchemaError, StorageError, TableAlreadyExists
from paimon_spark.file_io import FileIO, LocalFileIO
from paimon_spark.format.schema import TableSchema
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([("id", pa.int64()), ("value", pa.list_(pa.struct([("a", pa.int32())])))])


def schema(**options: str) -> TableSchema:
    return new_schema(COLUMNS, ("id",), (), {"bucket": "1", **options}, "about it")


def test_what_is_written(tmp_path: Path) -> None:
    made = create_table(f"{tmp_path}/db/t/", schema())
    stored = json.loads((tmp_path / "db" / "t" / "schema" / "schema-0").read_text())
    assert [(f["id"], f["name"]) for f in stored["fields"]] == [(0, "id"), (1, "value")]
    assert stored["fields"][0]["type"] == "BIGINT NOT NULL"
    assert stored["highestFieldId"] == 2
    assert (stored["version"], stored["id"], stored["primaryKeys"], stored["partitionKeys"]) == (3, 0, ["id"], [])
    assert (stored["options"], stored["comment"]) == ({"bucket": "1"}, "about it")
    assert stored["timeMillis"] > 1_700_000_000_000
    assert open_table(f"{tmp_path}/db/t").schema == made


def test_there_is_one_already(tmp_path: Path) -> None:
    first = create_table(str(tmp_path), schema())
    with pytest.raises(TableAlreadyExists, match=f"there is a table at {tmp_path}"):
        create_table(str(tmp_path), schema())
    assert create_table(str(tmp_path), schema(x="y"), ignore_if_exists=True) == first


def test_rules_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(SchemaError):
        create_table(f"{tmp_path}/t", replace(schema(), primary_keys=("nothing",)))
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_not_buried(tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").write_text("")
    with pytest.raises(SchemaError, match=r"not empty \(part-0.parquet\)"):
        create_table(str(tmp_path), schema(), ignore_if_exists=True)
    (tmp_path / "part-0.parquet").unlink()
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / "schema").mkdir()
    create_table(str(tmp_path), schema())


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("t/id=1", "it is within the table {}/t: give that path"),
        ("t/a=1/b=2/bucket-0/x", "it is within the table {}/t: give that path"),
        ("t/schema", "it is within the table {}/t: give that path"),
        ("t$files", "`\\$files` is the name of a system table, which cannot be written, of the table {}/t"),
        ("t$foo", "`\\$foo` is the name of a system table, .* give {}/t"),
    ],
)
def test_no_table_is_made_within_another_or_in_the_place_of_its_system_table(
    path: str, advice: str, tmp_path: Path
) -> None:
    create_table(f"{tmp_path}/t", schema())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        SchemaError, match=rf"creating a table at {re.escape(f'{tmp_path}/{path}')}: {advice.format(tmp_path)}"
    ):
        create_table(f"{tmp_path}/{path}", schema(), ignore_if_exists=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_directory_of_schemas_is_no_table(tmp_path: Path) -> None:
    """The names of a database or of a user's directory may be those of a table's."""
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "orders.json").write_text("{}")
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "schema").write_text("")
    create_table(f"{tmp_path}/db/t", schema())
    create_table(f"{tmp_path}/db/u$other", schema())
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        SchemaError, match=r"u\$files: `\$files` is the name of a system table.* no table at .*/u: give"
    ):
        create_table(f"{tmp_path}/db/u$files", schema(), ignore_if_exists=True)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", ["dangling", "dangling/t"])
def test_a_directory_that_cannot_be_made(path: str, tmp_path: Path) -> None:
    (tmp_path / "dangling").symlink_to(tmp_path / "lost" / "deep")
    with pytest.raises(StorageError, match=rf"{path}: its directory cannot be made \(.*No such file or directory\)"):
        create_table(f"{tmp_path}/{path}", schema())


def create_one(location: str, number: int) -> str:
    """The comment of the table that is there when this process has created it or found it."""
    return create_table(location, replace(schema(), comment=str(number)), ignore_if_exists=True).comment or ""


def test_many_at_once(tmp_path: Path) -> None:
    with process_pool(3) as pool:
        for turn in range(10):
            location = f"{tmp_path}/{turn}"
            found = {future.result() for future in [pool.submit(create_one, location, n) for n in range(3)]}
            assert len(found) == 1
            assert found == {open_table(location).schema.comment}


def test_many_threads_at_once(tmp_path: Path) -> None:
    made: list[int] = []

    def run(number: int) -> None:
        try:
            create_table(f"{tmp_path}/t", replace(schema(), comment=str(number)))
        except TableAlreadyExists:
            return
        made.append(number)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert open_table(f"{tmp_path}/t").schema.comment == str(made[0])


@pytest.mark.parametrize("when", list(When))
def test_no_answer(tmp_path: Path, when: When) -> None:
    store: FileIO = FaultyFileIO(LocalFileIO(), 0, when, named="!create")
    if when == When.AFTER:
        create_table(f"{tmp_path}/t", schema(), store)
    else:
        with pytest.raises(InjectedFault):
            create_table(f"{tmp_path}/t", schema(), store)
        create_table(f"{tmp_path}/t", schema())
    assert open_table(f"{tmp_path}/t").schema.comment == "about it"
