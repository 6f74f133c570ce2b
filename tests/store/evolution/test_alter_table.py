"""Publishing changes of a schema: races, faults, and what is told."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, InjectedFault, fault_points, is_killed, kill
from support.tables.commit_states import with_rivals
from support.tables.compacting import write

from paimon_spark import check, open_table
from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import CommitConflict, OptionError, SchemaError, UnsupportedFeature
from paimon_spark.file_io import LocalFileIO
from paimon_spark.format.type_text import parse_type
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter, alter_table
from paimon_spark.store.metadata.table import Table

ADD_X = (c.AddColumn(("x",), parse_type("INT")),)
ADD_Y = (c.AddColumn(("y",), parse_type("STRING"), "why"),)


def make(path: Path) -> Table:
    create_table(str(path), new_schema(pa.schema([("k", pa.int32()), ("n", pa.int32())]), options={"bucket": "-1"}))
    return open_table(str(path))


def test_a_change_is_one_schema_file(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    done = alter(table, (*ADD_X, c.RenameColumn(("n",), "m"), c.SetOption("write-only", "true")))
    assert done.schema_id == 1
    assert done.difference == ("~ n is now called m", "+ x INT", "+ option write-only = true")
    assert table.schemas.ids() == [0, 1]
    stored = json.loads((tmp_path / "t/schema/schema-1").read_text())
    assert [field["name"] for field in stored["fields"]] == ["k", "m", "x"]
    assert (stored["highestFieldId"], stored["version"]) == (2, 3)
    assert check(table.location).is_good


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    planned = alter(table, (*ADD_Y, c.MoveColumn(("n",), c.Position(c.Place.FIRST))), dry_run=True)
    assert planned.difference == ("+ y STRING COMMENT 'why'", "~ order: n, k, y")
    assert (planned.schema_id, planned.dry_run) == (0, True)
    assert table.schemas.ids() == [0]


def test_another_number_of_buckets_of_a_table_with_rows_is_accepted_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    fields = pa.schema([("k", pa.int32()), ("n", pa.int32())])
    create_table(str(tmp_path / "t"), new_schema(fields, options={"bucket": "1", "bucket-key": "k"}))
    table = open_table(str(tmp_path / "t"))
    alter_table(table, (c.SetOption("bucket", "2"),))
    assert not caplog.text
    write(open_table(table.location), [(1, 1)])
    alter_table(table, (c.SetOption("bucket", "2"),))
    alter_table(table, (c.SetOption("write-only", "true"),))
    assert not caplog.text
    alter_table(table, (c.SetOption("bucket", "3"),))
    assert caplog.text.count("are refused until they are rescaled: CALL sys.rescale(") == 1
    assert "bucket_num => 3)" in caplog.text
    with pytest.raises(OptionError, match="has 2 buckets"):
        write(open_table(table.location), [(2, 2)])


def test_no_server_decides_who_reads_a_table_of_files(tmp_path: Path) -> None:
    """Nobody could open it then, and set the option back."""
    table = make(tmp_path / "t")
    with pytest.raises(UnsupportedFeature, match="only the server of a REST catalog can decide"):
        alter_table(table, (c.SetOption("query-auth.enabled", "true"),))
    assert open_table(table.location).schema.id == 0


def test_what_changes_nothing_is_no_schema(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    done = alter(table, (c.SetOption("bucket", "-1"), c.UpdateNullable(("k",), True), c.UnsetOption("write-only")))
    assert (done.schema_id, done.difference, table.schemas.ids()) == (0, (), [0])


def test_a_lost_race_is_run_again_on_the_new_schema(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    other = lambda: alter_table(table, ADD_X)  # noqa: E731
    after = alter_table(with_rivals(table, other, folder="schema"), ADD_Y)
    assert (after.id, after.names, [f.id for f in after.fields]) == (2, ("k", "n", "x", "y"), [0, 1, 2, 3])


def test_a_lost_race_that_does_not_fit_shows_both(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    other = lambda: alter_table(table, (c.DropColumn(("n",)), *ADD_X))  # noqa: E731
    with pytest.raises(CommitConflict) as error:
        alter_table(with_rivals(table, other, folder="schema"), (c.RenameColumn(("n",), "m"),))
    assert "(schema 0 to 1: - n INT; + x INT)" in str(error.value)
    assert "do not fit any more: rename column n to m" in str(error.value)
    assert table.schemas.ids() == [0, 1]


def test_rules_that_depend_on_rows_look_at_the_snapshots(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    alter_table(table, (c.SetOption("deletion-vectors.enabled", "true"), c.UnsetOption("deletion-vectors.enabled")))
    write(open_table(table.location), [(1, 1)])
    with pytest.raises(OptionError, match=f"^altering {table.location}: cannot set the option 'merge-engine'"):
        alter_table(table, (c.SetOption("merge-engine", "first-row"),))


def test_a_branch_has_schemas_of_its_own(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    with pytest.raises(OptionError, match="names the branch 'b', which does not exist"):
        alter_table(table, (c.SetOption("scan.fallback-branch", "b"),))
    from paimon_spark.store.history.branches import create_branch

    create_branch(table, "b")
    alter_table(open_table(table.location, {"branch": "b"}), ADD_X)
    assert open_table(table.location, {"branch": "b"}).schema.names == ("k", "n", "x")
    assert open_table(table.location).schema.names == ("k", "n")
    alter_table(table, (c.SetOption("scan.fallback-branch", "b"),))
    with pytest.raises(OptionError, match="exclude each other"):
        alter_table(table, (c.SetOption("scan.primary-branch", "b"),))


def test_whatever_fails_the_schema_is_as_before_or_after(tmp_path: Path) -> None:
    counted = FaultyFileIO(LocalFileIO())
    alter_table(replace(make(tmp_path / "counted"), file_io=counted), ADD_X)
    assert counted.log
    for number, (at, when) in enumerate(fault_points(counted.log)):
        table = make(tmp_path / str(number))
        faulty = replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when))
        with suppress(InjectedFault, OSError):
            alter_table(faulty, ADD_X)
        assert open_table(table.location).schema.names in (("k", "n"), ("k", "n", "x"))
        if open_table(table.location).schema.id == 0:
            alter_table(table, ADD_X)
        else:
            with pytest.raises(SchemaError, match="there is a column 'x' already"):
                alter_table(table, ADD_X)
        assert check(table.location).is_good


def test_whenever_it_is_killed_the_schema_is_as_before_or_after(tmp_path: Path) -> None:
    counted = FaultyFileIO(LocalFileIO())
    alter_table(replace(make(tmp_path / "counted"), file_io=counted), ADD_X)
    for number, (at, when) in enumerate(fault_points(counted.log)):
        table = make(tmp_path / str(number))
        faulty = replace(table, file_io=FaultyFileIO(LocalFileIO(), at, when, act=kill))
        assert is_killed(lambda faulty=faulty: alter_table(faulty, ADD_X))
        assert open_table(table.location).schema.names in (("k", "n"), ("k", "n", "x"))
        alter_table(table, ADD_Y)
        assert open_table(table.location).schema.names[-1] == "y"


def test_what_another_job_has_changed_meanwhile_is_not_told(tmp_path: Path) -> None:
    table = make(tmp_path / "t")
    done = alter(with_rivals(table, lambda: alter_table(table, ADD_Y), folder="schema"), ADD_X)
    assert (done.schema_id, done.difference) == (2, ("+ x INT",))
