"""Cases of Java's SchemaManagerTest and SchemaEvolutionTest that are not in test_changed_schema."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacting import make, rows_of, write

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.errors import PaimonError, SchemaError
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

PAIRS = pa.schema([("a", pa.int32()), ("b", pa.int64())])
NOT_NULL = {"alter-column-null-to-not-null.disabled": "false"}


def changed(table: Table, update: SchemaUpdate) -> Table:
    """The table after changes."""
    alter_table(open_table(table.location), update.changes)
    return open_table(table.location)


def shown(table: Table) -> str:
    return ", ".join(f"{field.name} {type_sql(field.type)}".replace("`", "") for field in table.schema.fields)


def test_new_tables(tmp_path: Path) -> None:
    """testCreateTable, testCreateTableIllegal, testPrimaryKeyType, testPartitionType, testChangelogTable..."""
    columns = pa.schema([("day", pa.int32()), ("id", pa.float64()), ("v", pa.string()), ("m", pa.map_("i4", "i8"))])
    options = {"bucket": "1", "changelog-producer": "full-compaction"}
    create_table(str(tmp_path / "t"), new_schema(columns, ["day", "id"], ["day"], options))
    table = open_table(str(tmp_path / "t"))
    assert shown(table) == "day INT NOT NULL, id DOUBLE NOT NULL, v STRING, m MAP<INT NOT NULL, BIGINT>"
    assert [field.id for field in table.schema.fields] == [0, 1, 2, 3]
    assert (table.schema.primary_keys, table.schema.partition_keys) == (("day", "id"), ("day",))
    for keys, parts, options, words in (
        (["day", "m"], ["day"], {}, r"'m'.*MAP"),
        ([], ["m"], {}, r"'m'.*MAP"),
        (["day", "id"], ["day"], {"sequence.field": "nope"}, "sequence field 'nope' is not a column"),
    ):
        with pytest.raises(PaimonError, match=words):
            create_table(str(tmp_path / "wrong"), new_schema(columns, keys, parts, {"bucket": "1", **options}))
    assert not (tmp_path / "wrong").exists()


def test_two_columns_change_their_names(tmp_path: Path) -> None:
    """testRenameField, testCreateAlterSystemField."""
    table = make(tmp_path / "t", PAIRS, [], {"bucket": "-1"})
    write(table, [(1, 10)])
    for old, new in (("a", "spare"), ("b", "a"), ("spare", "b")):
        table = changed(table, SchemaUpdate().rename_column(old, new))
    assert [(field.name, field.id) for field in table.schema.fields] == [("b", 0), ("a", 1)]
    write(table, [(2, 20)])
    assert rows_of(table) == [(1, 10), (2, 20)]
    assert table.scan("a, b", "b = 1").to_arrow().to_pylist() == [{"a": 10, "b": 1}]
    for new, words in (("b", "there is a column 'b' already"), ("_VALUE_KIND", "reserved"), ("_KEY_x", "reserved")):
        with pytest.raises(SchemaError, match=words):
            changed(table, SchemaUpdate().rename_column("a", new))


def test_columns_that_options_name_change_their_names(tmp_path: Path) -> None:
    """testRenameFieldReferencedByOptions, testRenameSeqGroupFields, testRenameBucketKeyColumn."""
    many = pa.list_(pa.struct([("x", pa.int32())]))
    columns = pa.schema(
        [("k", pa.int32()), ("j", pa.int32()), ("s", pa.int32()), ("t", pa.int32()), ("n", pa.int32()), ("l", many),
         ("c", pa.list_(pa.int32()))]
    )  # fmt: skip
    options = {
        "bucket-key": "j,k", "merge-engine": "aggregation", "sequence.field": "s,t", "fields.n.ignore-retract": "true",
        "fields.l.aggregate-function": "nested_update", "fields.l.nested-key": "x",
        "fields.c.aggregate-function": "collect", "fields.c.distinct": "true",
    }  # fmt: skip
    table = make(tmp_path / "t", columns, ["k", "j"], options)
    update = SchemaUpdate()
    for field in table.schema.fields:
        update.rename_column(field.name, field.name + "_")
    after = changed(table, update).schema
    assert after.names == ("k_", "j_", "s_", "t_", "n_", "l_", "c_")
    assert after.options == {
        "bucket": "1", "write-only": "true",
        "bucket-key": "j_,k_", "merge-engine": "aggregation", "sequence.field": "s_,t_",
        "fields.n_.ignore-retract": "true", "fields.l_.aggregate-function": "nested_update",
        "fields.l_.nested-key": "x", "fields.c_.aggregate-function": "collect", "fields.c_.distinct": "true",
    }  # fmt: skip
    groups = {"merge-engine": "partial-update", "fields.a,b.sequence-group": "c", "fields.d.sequence-group": "e,f"}
    table = make(tmp_path / "g", pa.schema([(name, pa.int32()) for name in "kabcdef"]), ["k"], groups)
    update = SchemaUpdate()
    for name in "abcdef":
        update.rename_column(name, name.upper() + "1")
    found = {key: value for key, value in changed(table, update).schema.options.items() if key.startswith("fields.")}
    assert found == {"fields.A1,B1.sequence-group": "C1", "fields.D1.sequence-group": "E1,F1"}


def test_a_new_type_keeps_the_comment_and_whether_it_may_be_null(tmp_path: Path) -> None:
    """testUpdateFieldType, testUpdateFieldTypeWithNullabilityChange."""
    table = make(tmp_path / "t", PAIRS, [], {"bucket": "-1", **NOT_NULL})
    table = changed(table, SchemaUpdate().set_comment("a", "how many").update_type("a", "BIGINT NOT NULL"))
    assert (shown(table), table.schema.fields[0].description) == ("a BIGINT, b BIGINT", "how many")
    table = changed(table, SchemaUpdate().set_options({"disable-explicit-type-casting": "true"}))
    with pytest.raises(SchemaError, match="cannot change from BIGINT to STRING; it may lose information"):
        changed(table, SchemaUpdate().update_type("a", "STRING"))
    table = changed(table, SchemaUpdate().set_options({"disable-explicit-type-casting": "false"}))
    assert shown(changed(table, SchemaUpdate().update_type("a", "STRING"))) == "a STRING, b BIGINT"
    alter_table(open_table(table.location), (c.UpdateType(("b",), parse_type("DOUBLE NOT NULL"), False),))
    assert shown(open_table(table.location)) == "a STRING, b DOUBLE NOT NULL"


def test_columns_that_become_not_null(tmp_path: Path) -> None:
    """testUpdateNestedColumnNullability, testUpdateColumnNullabilityWithData."""
    columns = pa.schema([("k", pa.int32()), ("v", pa.struct([("x", pa.int32()), ("y", pa.int64())]))])
    table = make(tmp_path / "t", columns, [], {"bucket": "-1", **NOT_NULL})
    write(table, [(1, {"x": 1, "y": None}), (2, None)])
    table = changed(table, SchemaUpdate().set_nullable("k", False).set_nullable("v.x", False))
    assert shown(table) == "k INT NOT NULL, v ROW<x INT NOT NULL, y BIGINT>"
    assert rows_of(table) == [(1, {"x": 1, "y": None}), (2, None)]
    write(table, [(3, {"x": 3, "y": 3})])
    assert rows_of(table)[2] == (3, {"x": 3, "y": 3})
    with pytest.raises(PaimonError, match="NOT NULL"):
        write(table, [(None, None)])


def test_conditions_on_columns_that_older_files_lack(tmp_path: Path) -> None:
    """testAddField, testAddDuplicateField."""
    table = make(tmp_path / "t", PAIRS, [], {"bucket": "-1"})
    write(table, [(1, 1), (2, 2)])
    table = changed(table, SchemaUpdate().add_column("n", "BIGINT"))
    write(table, [(3, 3, 3), (4, 4, 4)])

    def ids(where: str) -> list[int]:
        return sorted(table.scan("a", where).to_arrow().column(0).to_pylist())

    assert rows_of(table) == [(1, 1, None), (2, 2, None), (3, 3, 3), (4, 4, 4)]
    assert [ids(where) for where in ("a = 1", "n is null", "n = 3", "n > 3 or n is null")] == [
        [1],
        [1, 2],
        [3],
        [1, 2, 4],
    ]
    for wrong, words in (("n", "there is a column 'n' already"), ("z", "cannot be NOT NULL")):
        with pytest.raises(SchemaError, match=words):
            changed(table, SchemaUpdate().add_column(wrong, "FLOAT NOT NULL" if wrong == "z" else "FLOAT"))


def test_statistics_of_another_type_leave_no_file_out(tmp_path: Path) -> None:
    """testPushDownEvolutionSafeFilter: as a text 10 is before 3, as a number it is not."""
    table = make(tmp_path / "t", PAIRS, [], {"bucket": "-1"})
    write(table, [(1, 1)])
    write(table, [(10, 2)])
    table = changed(table, SchemaUpdate().update_type("a", "STRING"))
    write(table, [("0", 3)])
    write(table, [("3", 3)])

    def found(where: str) -> list[tuple[object, ...]]:
        return sorted(tuple(row.values()) for row in table.scan(where=where).to_arrow().to_pylist())

    assert found("a >= '1' and a < '3'") == [("1", 1), ("10", 2)]
    assert found("a >= '3' and b >= 2") == [("3", 3)]
    (split,) = table.scan(where="a >= '3' and b >= 2").plan().splits
    assert split.file_count == 2  # the second, whose statistics are of numbers, and the last


def test_options_that_only_repeat_the_keys(tmp_path: Path) -> None:
    """testCopyWithPrimaryKeyInOptions."""
    create_table(str(tmp_path / "t"), new_schema(PAIRS, ["a", "b"], ["a"], {"bucket": "1"}))
    table = open_table(str(tmp_path / "t"), {"primary-key": "a,b", "partition": "a"})
    assert (table.schema.primary_keys, table.schema.partition_keys) == (("a", "b"), ("a",))
    assert not table.schema.options.keys() & {"primary-key", "partition"}
    with pytest.raises(PaimonError, match="primary-key"):
        open_table(str(tmp_path / "t"), {"primary-key": "a"})
