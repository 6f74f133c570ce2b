"""``schema``: the columns of a table, its keys and its options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.programs.command_line import command
from support.tables.golden_tables import GoldenTable

GENERATION = "java-2.1"


def newest(table: Path) -> dict[str, object]:
    """The schema file as it lies there."""
    return json.loads(max((table / "schema").iterdir(), key=lambda path: int(path.name[7:])).read_text())  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["pk_dedup", "tags_branches", "append_part", "pk_seq_field", "defaults", "variant"])
def test_all_that_the_file_says(tmp_path: Path, name: str) -> None:
    table = GoldenTable(GENERATION, name).unpack(tmp_path)
    stored, told = newest(table), command("schema", table, "--output", "json").document
    assert told["schema_id"] == stored["id"]
    assert [(c["name"], c["comment"]) for c in told["columns"]] == [
        (field["name"], field.get("description"))
        for field in stored["fields"]  # type: ignore[attr-defined]
    ]
    assert told["primary_keys"] == stored["primaryKeys"]
    assert told["partition_keys"] == stored["partitionKeys"]
    assert told["options"] == stored["options"]
    assert told["comment"] == (stored.get("comment") or None)
    text = command("schema", table, columns=200).out
    for field in stored["fields"]:  # type: ignore[attr-defined]
        assert field["name"] in text
    for field in stored["fields"]:  # type: ignore[attr-defined]
        if "defaultValue" in field:
            assert field["defaultValue"] in text
    for key, value in stored["options"].items():  # type: ignore[attr-defined]
        assert f"{key} = {value}" in text


def test_keys_are_numbered(tmp_path: Path) -> None:
    table = GoldenTable(GENERATION, "pk_part_buckets").unpack(tmp_path)
    columns = command("schema", table, "--output", "json").document["columns"]
    keys = newest(table)["primaryKeys"]
    assert isinstance(keys, list)
    assert len(keys) > 1
    for number, key in enumerate(keys, 1):
        (found,) = [column["key"] for column in columns if column["name"] == key]
        assert f"primary key {number}" in found


def test_an_older_schema(tmp_path: Path) -> None:
    table = GoldenTable(GENERATION, "schema_evo").unpack(tmp_path)
    ids = sorted(int(path.name[7:]) for path in (table / "schema").iterdir())
    assert len(ids) > 1
    for number in ids:
        stored = json.loads((table / "schema" / f"schema-{number}").read_text())
        told = command("schema", table, "--id", str(number), "--output", "json").document
        assert [column["name"] for column in told["columns"]] == [field["name"] for field in stored["fields"]]
    first = json.loads((table / "snapshot" / "snapshot-1").read_text())["schemaId"]
    assert command("schema", table, "--at", "1", "--output", "json").document["schema_id"] == first
    assert command("schema", table, "--at", "1", "--id", "0").code == 2


def test_a_narrow_terminal(tmp_path: Path) -> None:
    table = GoldenTable(GENERATION, "pk_dedup").unpack(tmp_path)
    assert max(map(len, command("schema", table, columns=40).out.splitlines())) <= 40


def types_shown(out: str) -> list[str]:
    """The column of types of a table that goes on below itself, without blanks."""
    lines = out.partition("\n\n")[0].splitlines()
    begin, end = lines[0].index("type"), lines[0].find("comment")
    found: list[str] = []
    for line in lines[2:]:
        piece = "".join((line[begin:end] if end > 0 else line[begin:]).split())
        if line[0] == " ":
            found[-1] += piece
        else:
            found.append(piece)
    return found


@pytest.mark.parametrize("columns", [40, 60, 200])
def test_no_type_is_cut(tmp_path: Path, columns: int) -> None:
    table = GoldenTable(GENERATION, "types_parquet").unpack(tmp_path)
    told = command("schema", table, columns=columns)
    expected = [
        "".join(column["type"].split()) for column in command("schema", table, "--output", "json").document["columns"]
    ]
    assert max(map(len, expected)) > 50
    assert types_shown(told.out) == expected
