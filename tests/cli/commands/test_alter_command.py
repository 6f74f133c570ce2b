"""``paimon-spark alter`` changes the schema of a table, and with --dry-run only tells how."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacted_tables import append, new_table
from typer.testing import CliRunner

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.cli.program import app


@pytest.fixture
def path(tmp_path: Path) -> str:
    schema = pa.schema([("id", pa.int32()), ("n", pa.int32()), ("s", pa.struct([("x", pa.int32())]))])
    create_table(str(tmp_path / "t"), new_schema(schema, options={"bucket": "-1"}))
    return str(tmp_path / "t")


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["alter", *words])
    return result.exit_code, result.output


def test_every_change_has_its_words(path: str) -> None:
    calls = (
        ("add-column", "note", "string", "--after", "id", "--comment", "by hand"),
        ("add-column", "s.y", "BIGINT", "--first"),
        ("rename-column", "S.x", "z"),
        ("update-type", "n", "bigint"),
        ("set-default", "n", "7"),
        ("set-comment", "n", "a number"),
        ("move-column", "n", "--first"),
        ("set-options", "snapshot.time-retained=4 d", "write-only=true"),
        ("set-table-comment", "all of them"),
        ("drop-default", "n"),
        ("drop-comment", "n"),
        ("unset-options", "write-only"),
        ("set-nullable", "n"),
    )
    for words in calls:
        code, text = run(path, *words)
        assert code == 0, text
    schema = open_table(path).schema
    assert schema.names == ("n", "id", "note", "s")
    assert [field.name for field in schema.by_name["s"].type.fields] == ["y", "z"]
    assert (schema.by_name["note"].description, schema.comment) == ("by hand", "all of them")
    assert (schema.options["snapshot.time-retained"], "write-only" in schema.options) == ("4 d", False)
    lines = run(path, "drop-column", "note", "s")[1].splitlines()
    assert lines == ["schema 13:", "  - note STRING COMMENT 'by hand'", "  - s ROW<`y` BIGINT, `z` INT>"]


def test_a_dry_run_prints_the_difference(path: str) -> None:
    assert run(path, "update-type", "n", "bigint", "--dry-run") == (0, "schema 0 would change:\n  ~ n INT -> BIGINT\n")
    assert open_table(path).schema.id == 0
    code, text = run(path, "set-options", "bucket=-1", "--output", "json")
    assert (code, json.loads(text)) == (0, {"schema_id": 0, "difference": [], "dry_run": False})
    assert run(path, "set-options", "bucket=-1")[1] == "nothing changes; the schema is 0\n"
    unset = run(path, "unset-options", "write-onyl")[1]
    assert unset == "nothing changes; the schema is 0\nthe table has no option 'write-onyl' to unset\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add-colum", "x", "int"), "is no change"),
        (("add-column", "x"), "add-column needs: NAME TYPE"),
        (("rename-column", "n", "a", "b"), "rename-column needs"),
        (("drop-column", "n", "--first"), "gives a column no place"),
        (("add-column", "x", "int", "--last"), "a new column is the last one"),
        (("set-options", "bucket"), "expected KEY=VALUE"),
        (("update-type", "n", "wrong"), "'wrong' is not known"),
        (("drop-column", "nope"), "there is no column 'nope'; found: id, n, s"),
        (("set-not-null", "n"), "'false' allows"),
        (("move-column", "n"), "exactly one of"),
    ],
)
def test_what_is_wrong_is_said(path: str, words: tuple[str, ...], said: str) -> None:
    code, text = run(path, *words)
    assert code != 0
    assert said in " ".join(text.replace("│", " ").split())


def test_another_number_of_buckets_says_what_follows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(tmp_path / "t")
    warning = "rows that are there stay in their buckets"
    assert warning not in run(table.location, "set-options", "bucket=2")[1] + caplog.text
    append(open_table(table.location), [(1, None, None)])
    assert warning in run(table.location, "set-options", "bucket=3", "--dry-run")[1]
    assert not caplog.text
    assert warning not in run(table.location, "set-options", "bucket=3")[1]
    assert caplog.text.count(warning) == 1
    run(table.location, "set-options", "snapshot.num-retained.min=3")
    assert caplog.text.count(warning) == 1


def test_a_column_that_went_with_an_earlier_change_of_the_call(path: str) -> None:
    for words, earlier in ((("N", "n"), "N"), (("s", "n", "S.x"), "s")):
        code, told = run(path, "drop-column", *words)
        assert code == 2
        assert f"; it comes after 'drop column {earlier}' of the same call" in " ".join(told.split())
    code, told = run(path, "drop-column", "n", "nn")
    assert (code, "of the same call" in told) == (2, False)
    assert open_table(path).schema.names == ("id", "n", "s")
