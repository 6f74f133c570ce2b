"""What changes make of a schema: the cases of Java's SchemaManagerTest, as text, and our own refusals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from paimon_spark.errors import OptionError, PaimonError, SchemaError, UnsupportedFeature, UnsupportedMethod
from paimon_spark.format.rules.new_tables import assign_field_ids
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.format.types import DataField, all_fields
from paimon_spark.store.evolution import changes as c
from paimon_spark.store.evolution.changed_schema import changed_schema
from paimon_spark.store.evolution.nested_fields import spelled, type_at
from paimon_spark.store.evolution.schema_update import SchemaBlock, SchemaUpdate

NESTED = {"k": "INT", "v": "ROW<f1 STRING, f2 ROW<f1 INT, f2 BIGINT>>"}
FIRST = c.Position(c.Place.FIRST)
CLUSTERED = {"clustering.columns": "a", "pk-clustering-override": "true"}


def schema(
    columns: Mapping[str, str],
    keys: Sequence[str] = (),
    partitions: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
) -> TableSchema:
    fields = [DataField(0, name, parse_type(text)) for name, text in columns.items()]
    fields = [DataField(0, f.name, f.type.with_nullable(f.type.nullable and f.name not in keys)) for f in fields]
    numbered, highest = assign_field_ids(fields)
    return TableSchema(0, numbered, highest, tuple(partitions), tuple(keys), {"bucket": "-1", **(options or {})})


def changed(
    before: TableSchema,
    update: Callable[[SchemaUpdate], object],
    has_rows: bool = True,
    case_sensitive: bool = True,
) -> TableSchema:
    collected = SchemaUpdate()
    update(collected)
    return changed_schema(before, collected.changes, lambda: has_rows, case_sensitive)


def columns(found: TableSchema) -> str:
    return ", ".join(f"{field.name} {type_sql(field.type)}".replace("`", "") for field in found.fields)


def ids(found: TableSchema) -> dict[str, int]:
    return {field.name: field.id for field in all_fields(found.fields)}


# ------------------------------------------------------------------------------------------------------ nested columns


def test_columns_are_added_within_a_struct_and_dropped() -> None:
    """testAddAndDropNestedColumns."""
    before = schema(NESTED, partitions=["k"])
    after = changed(before, lambda u: u.add_column("v.f2.f3", "STRING", after="f1"))
    assert columns(after) == "k INT, v ROW<f1 STRING, f2 ROW<f1 INT, f3 STRING, f2 BIGINT>>"
    assert after.highest_field_id == before.highest_field_id + 1 == ids(after)["f3"]
    after = changed(after, lambda u: u.add_column("v.f2.f4", "DOUBLE", "a comment"))
    after = changed(after, lambda u: u.add_column("v.f2.f5", "DOUBLE", before="f4"))
    after = changed(after, lambda u: u.drop_column("v.f2.f1"))
    assert (
        columns(after)
        == "k INT, v ROW<f1 STRING, f2 ROW<f3 STRING, f2 BIGINT, f5 DOUBLE, f4 DOUBLE COMMENT 'a comment'>>"
    )
    for wrong, words in (
        (lambda u: u.add_column("v.f2.f3", "STRING"), "there is a column 'v.f2.f3' already"),
        (lambda u: u.add_column("v.invalid.f4", "STRING"), "there is no column 'v.invalid'; found: f1, f2"),
        (lambda u: u.drop_column("v.f2.f1"), "there is no column 'v.f2.f1'"),
        (lambda u: u.drop_column("v.invalid.f2"), "there is no column 'v.invalid'"),
        (lambda u: u.add_column("v.f2.f6", "STRING", after="nowhere"), "there is no column 'v.f2.nowhere'"),
    ):
        with pytest.raises(SchemaError, match=words):
            changed(after, wrong)


def test_a_field_of_a_struct_gets_another_name() -> None:
    """testRenameNestedColumns."""
    before = schema(NESTED, partitions=["k"])
    after = changed(before, lambda u: u.rename_column("v.f2.f1", "f100"))
    assert columns(after) == "k INT, v ROW<f1 STRING, f2 ROW<f100 INT, f2 BIGINT>>"
    assert [f.id for f in all_fields(after.fields)] == [f.id for f in all_fields(before.fields)]
    for wrong, words in (
        (lambda u: u.rename_column("v.invalid.f2", "f200"), "no column 'v.invalid'"),
        (lambda u: u.rename_column("v.f2.invalid", "f200"), "no column 'v.f2.invalid'"),
        (lambda u: u.rename_column("v.f2.f2", "f100"), "there is a column 'v.f2.f100' already"),
        (lambda u: u.rename_column("v.f2.f2", "f2"), "has this name already"),
        (lambda u: u.rename_column("v.f2.f2", "v.f2.z"), "the new name is that of the field alone; give 'z'"),
    ):
        with pytest.raises(SchemaError, match=words):
            changed(after, wrong)


def test_a_field_of_a_struct_changes_its_type() -> None:
    """testUpdateNestedColumnType."""
    before = schema(NESTED, partitions=["k"])
    after = changed(before, lambda u: u.update_type("v.f2.f1", "BIGINT"))
    assert columns(after) == "k INT, v ROW<f1 STRING, f2 ROW<f1 BIGINT, f2 BIGINT>>"
    with pytest.raises(SchemaError, match=r"no column 'v\.invalid'"):
        changed(before, lambda u: u.update_type("v.invalid.f1", "BIGINT"))


def test_structs_within_arrays_and_maps_change() -> None:
    """testUpdateRowTypeInArrayAndMap."""
    before = schema({"k": "INT", "v": "ARRAY<MAP<INT, ROW<f1 INT, f2 BIGINT>>>"}, partitions=["k"])

    def update(u: SchemaUpdate) -> None:
        u.add_column("v.element.value.f3", "STRING", first=True)
        u.drop_column("v.element.value.f2").update_type("v.element.value.f1", "BIGINT")

    after = changed(before, update)
    assert columns(after) == "k INT, v ARRAY<MAP<INT, ROW<f3 STRING, f1 BIGINT>>>"
    assert (ids(after)["f3"], ids(after)["f1"]) == (4, ids(before)["f1"])


def test_elements_and_values_change_their_types() -> None:
    before = schema({"k": "INT", "a": "ARRAY<INT>", "m": "MAP<INT, ARRAY<SMALLINT NOT NULL>>"})
    after = changed(before, lambda u: u.update_type("a.element", "BIGINT").update_type("m.value.element", "INT"))
    assert columns(after) == "k INT, a ARRAY<BIGINT>, m MAP<INT, ARRAY<INT NOT NULL>>"
    after = changed(after, lambda u: u.set_nullable("m.value.element"))
    assert columns(after).endswith("m MAP<INT, ARRAY<INT>>")


@pytest.mark.parametrize(
    ("update", "words"),
    [
        (lambda u: u.update_type("m.key", "BIGINT"), "what is in the keys of a map cannot change"),
        (lambda u: u.update_type("a.item", "BIGINT"), "'a.element' names what is in it, not 'item'"),
        (lambda u: u.update_type("k.x", "BIGINT"), "'k' is INT, which has nothing in it to name"),
        (lambda u: u.add_column("k.x", "INT"), "'k' is INT, which has no fields"),
        (lambda u: u.rename_column("a.element", "x"), "has no fields"),
        (lambda u: u.set_comment("a.element", "x"), "has no fields"),
        (lambda u: u.update_type("s", "ROW<x BIGINT>"), "cannot change .* as a whole"),
        (lambda u: u.update_type("a", "STRING"), "cannot change .* as a whole"),
        (lambda u: u.set_default("s.x", "1"), "nested in a column has no default"),
        (lambda u: u.set_default("a", "1"), "is no ARRAY<INT>: write it as ARRAY"),
        (lambda u: u.drop_column("s.x"), "is the only one of 's'"),
    ],
)
def test_what_cannot_be_meant_within_a_column_is_refused(update: Callable[[SchemaUpdate], object], words: str) -> None:
    before = schema({"k": "INT", "a": "ARRAY<INT>", "m": "MAP<INT, INT>", "s": "ROW<x INT>"})
    with pytest.raises((SchemaError, UnsupportedFeature), match=words):
        changed(before, update)


# ---------------------------------------------------------------------------------------------------- keys and options


def test_options_that_fix_the_table_can_be_set_while_it_is_empty() -> None:
    """testAlterImmutableOptionsOnEmptyTable."""
    before = schema({"f0": "INT", "f1": "BIGINT", "f2": "STRING"})
    given = {"primary-key": "f0, f1", "partition": "f0", "bucket": "2", "merge-engine": "first-row"}
    after = changed(before, lambda u: u.set_options(given), has_rows=False)
    assert (after.primary_keys, after.partition_keys) == (("f0", "f1"), ("f0",))
    assert after.options == {"bucket": "2", "merge-engine": "first-row"}
    assert columns(after) == "f0 INT NOT NULL, f1 BIGINT NOT NULL, f2 STRING"
    with pytest.raises(OptionError, match="'merge-engine' cannot change once a table has rows; the stored rows"):
        changed(after, lambda u: u.set_options({"merge-engine": "deduplicate"}))
    for has_rows in (False, True):
        for wrong in (lambda u: u.set_options({"type": "format-table"}), lambda u: u.unset_options("type")):
            with pytest.raises(OptionError, match="'type' cannot change"):
                changed(after, wrong, has_rows)
    assert changed(after, lambda u: u.set_options({"type": "TABLE"})) == after


def test_keys_that_are_set_again_are_no_change() -> None:
    """testAlterUnchangedNormalizedOptionsOnNonEmptyTable, testIsUnchangedNormalizedKeyWithKeyLists."""
    before = schema({"a": "INT", "b": "INT", "v": "INT"}, ["a", "b"], ["a"], {"bucket": "1"})
    assert changed(before, lambda u: u.set_options({"primary-key": "a,b", "partition": "a"})) == before
    assert changed(before, lambda u: u.set_options({"primary-key": " a , b ,", "bucket": "1"})) == before
    for key, value in (("primary-key", "b,a"), ("primary-key", "a"), ("partition", "b"), ("partition", "")):
        with pytest.raises(OptionError, match=f"'{key}' cannot change"):
            changed(before, lambda u, key=key, value=value: u.set_options({key: value}))


def test_a_primary_key_is_dropped_while_the_table_is_empty() -> None:
    """testDropPrimaryKeyOnEmptyTable, testDropPrimaryKeyOnNonEmptyTable."""
    before = schema({"a": "INT", "v": "INT"}, ["a"], options={"bucket": "-1"})
    after = changed(before, lambda u: u.drop_primary_key(), has_rows=False)
    assert after.primary_keys == ()
    assert not after.by_name["a"].type.nullable
    with pytest.raises(SchemaError, match="keeps its primary key"):
        changed(before, lambda u: u.drop_primary_key())


def test_deletion_vectors_change_only_where_it_is_allowed() -> None:
    """testAlterDeletionVectorsMode."""
    before = schema({"a": "INT"})
    on = {"deletion-vectors.enabled": "true"}
    with pytest.raises(OptionError, match=r"rows could be there twice until a full compaction; set .*modifiable"):
        changed(before, lambda u: u.set_options(on))
    allowed = changed(before, lambda u: u.set_options({"deletion-vectors.modifiable": "true"}))
    assert changed(allowed, lambda u: u.set_options(on)).options["deletion-vectors.enabled"] == "true"
    assert changed(before, lambda u: u.set_options(on), has_rows=False).options["deletion-vectors.enabled"] == "true"
    with pytest.raises(OptionError, match="rows could be there twice"):
        changed(schema({"a": "INT"}, options=on), lambda u: u.unset_options("deletion-vectors.enabled"))


@pytest.mark.parametrize(
    ("options", "update", "words"),
    [
        ({"bucket": "-1"}, {"bucket": "4"}, "cannot change from -1 to 4"),
        ({"bucket": "2", "bucket-key": "a"}, {"bucket": "-1"}, "cannot change from 2 to -1"),
        ({"bucket": "2", "bucket-key": "a"}, {"bucket": None}, "cannot be unset .*rescale"),
        ({"bucket": "2", "bucket-key": "a"}, {"bucket-key": "b"}, "rows are found by their bucket"),
        ({"ignore-delete": "true"}, {"ignore-delete": "false"}, "cannot change from true to false"),
        ({"ignore-update-before": "true"}, {"ignore-update-before": "false"}, "cannot change from true to false"),
        (CLUSTERED, {"clustering.columns": "b"}, r"'clustering\.columns' cannot change with '.*override'"),
        (CLUSTERED, {"clustering.columns": None}, r"'clustering\.columns' cannot change with '.*override'"),
        ({}, {"path": "/elsewhere"}, "the table is where its files are"),
        ({}, {"merge-engine": None}, "cannot change once a table has rows"),
        ({}, {"write-onyl": "true"}, "'write-onyl' is not known; did you mean 'write-only'"),
        ({}, {"snapshot.num-retained.min": "0"}, "must be at least 1"),
        (
            {},
            {"file.compression": "lzo"},
            "cannot change the schema: the option 'file.compression' is 'lzo'",
        ),
        ({}, {"file.format": "csv"}, "does not support data files other than parquet, orc, avro and row"),
    ],
)
def test_options_that_cannot_change(options: Mapping[str, str], update: Mapping[str, str | None], words: str) -> None:
    before = schema({"a": "INT", "b": "INT"}, options=options)

    def make(u: SchemaUpdate) -> None:
        for key, value in update.items():
            u.unset_options(key) if value is None else u.set_options({key: value})

    with pytest.raises((OptionError, SchemaError, UnsupportedFeature), match=words):
        changed(before, make)


def test_buckets_may_change_between_numbers() -> None:
    before = schema({"a": "INT", "b": "INT"}, options={"bucket": "2", "bucket-key": "a"})
    assert changed(before, lambda u: u.set_options({"bucket": "4"})).options["bucket"] == "4"


def test_a_sequence_group_that_an_aggregation_needs_stays() -> None:
    """testResetSequenceGroupForAggregateFunction, testResetSequenceGroupForLastNonNullAggregateFunction."""
    options = {"merge-engine": "partial-update", "bucket": "1", "fields.c.sequence-group": "b"}
    table = {"a": "INT", "b": "INT", "c": "INT"}
    before = schema(table, ["a"], options={**options, "fields.b.aggregate-function": "sum"})
    with pytest.raises(PaimonError, match="sequence group"):
        changed(before, lambda u: u.unset_options("fields.c.sequence-group"))
    before = schema(table, ["a"], options={**options, "fields.b.aggregate-function": "last_non_null_value"})
    after = changed(before, lambda u: u.unset_options("fields.c.sequence-group"))
    assert "fields.c.sequence-group" not in after.options


def test_columns_with_an_index_stay() -> None:
    """testRejectRenamePrimaryKeyVectorIndexColumn and its variants for the other indexes."""
    for kind in ("btree", "bitmap", "vector", "full-text"):
        before = schema({"a": "INT", "v": "STRING"}, ["a"], options={"bucket": "1", f"pk-{kind}.index.columns": "v"})
        for wrong in (
            lambda u: u.rename_column("v", "w"),
            lambda u: u.drop_column("v"),
            lambda u: u.update_type("v", "BYTES"),
        ):
            with pytest.raises(SchemaError, match="makes an index of column 'v'"):
                changed(before, wrong)


def test_columns_of_keys_and_partitions() -> None:
    before = schema({"p": "INT", "k": "INT", "v": "INT"}, ["p", "k"], ["p"], {"bucket": "1", "bucket-key": "k"})
    for wrong, words in (
        (lambda u: u.rename_column("p", "q"), "'p' is a column of the partition"),
        (lambda u: u.drop_column("p"), "'p' is a column of the partition"),
        (lambda u: u.update_type("p", "BIGINT"), "'p' is a column of the partition"),
        (lambda u: u.drop_column("k"), "'k' is a column of the primary key"),
        (lambda u: u.update_type("k", "BIGINT"), "'k' is a column of the primary key"),
        (lambda u: u.set_nullable("k"), "'k' is a column of the primary key"),
    ):
        with pytest.raises(SchemaError, match=words):
            changed(before, wrong)
    after = changed(before, lambda u: u.rename_column("k", "id"))
    assert (after.primary_keys, after.options["bucket-key"]) == (("p", "id"), "id")


def test_a_renamed_column_is_renamed_in_the_options() -> None:
    """testRenameColumnKeepsMapStorageLayoutOptions, for the options that this release knows."""
    options = {
        "bucket": "1", "merge-engine": "partial-update", "fields.g,h.sequence-group": "v,w",
        "fields.v.aggregate-function": "listagg", "fields.v.list-agg-delimiter": ";", "fields.v.stats-mode": "none",
        "fields.default-aggregate-function": "last_value",
    }  # fmt: skip
    before = schema({"k": "INT", "v": "STRING", "w": "INT", "g": "INT", "h": "INT"}, ["k"], options=options)
    after = changed(before, lambda u: u.rename_column("v", "x").rename_column("g", "s"))
    assert after.options == {
        "bucket": "1", "merge-engine": "partial-update", "fields.s,h.sequence-group": "x,w",
        "fields.x.aggregate-function": "listagg", "fields.x.list-agg-delimiter": ";", "fields.x.stats-mode": "none",
        "fields.default-aggregate-function": "last_value",
    }  # fmt: skip
    removing = {
        "bucket": "1", "merge-engine": "partial-update", "fields.g.sequence-group": "v",
        "partial-update.remove-record-on-sequence-group": "g",
    }  # fmt: skip
    grouped = schema({"k": "INT", "v": "INT", "g": "INT"}, ["k"], options=removing)
    renamed = changed(grouped, lambda u: u.rename_column("g", "s")).options
    assert renamed["partial-update.remove-record-on-sequence-group"] == "s"
    sequenced = schema({"k": "INT", "a": "INT", "b": "INT"}, ["k"], options={"bucket": "1", "sequence.field": "a,b"})
    assert changed(sequenced, lambda u: u.rename_column("b", "c")).options["sequence.field"] == "a,c"
    with pytest.raises(SchemaError, match="the sequence field 'a' is not a column"):
        changed(sequenced, lambda u: u.drop_column("a"))
    expiring = schema({"k": "INT", "t": "INT"}, options={"record-level.time-field": "t"})
    with pytest.raises(SchemaError, match=r"'record-level\.time-field' = 't' must name a column"):
        changed(expiring, lambda u: u.rename_column("t", "u"))


# ---------------------------------------------------------------------------------------- types, NULL, defaults, places


@pytest.mark.parametrize(
    ("source", "target", "explicit", "fits"),
    [
        ("INT", "BIGINT", False, True), ("BIGINT", "INT", False, False), ("BIGINT", "INT", True, True),
        ("INT", "DECIMAL(5, 2)", False, True), ("DECIMAL(5, 2)", "FLOAT", False, True), ("INT", "STRING", False, False),
        ("STRING", "INT", True, True), ("TIMESTAMP(6)", "DATE", False, True), ("DATE", "TIMESTAMP(3)", True, True),
        ("DATE", "TIMESTAMP(3)", False, False), ("DATE", "STRING", True, True), ("DATE", "VARCHAR(20)", True, False),
        ("TIMESTAMP(6)", "DECIMAL(10, 0)", True, False), ("BOOLEAN", "INT", True, True),
        ("FLOAT", "BOOLEAN", True, False),
        ("BYTES", "BINARY(3)", True, True), ("BINARY(3)", "BYTES", False, True), ("INT", "BYTES", True, False),
        ("VARCHAR(3)", "STRING", False, True), ("TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", False, True),
    ],
)  # fmt: skip
def test_types_change_by_the_matrix(source: str, target: str, explicit: bool, fits: bool) -> None:
    options = {} if explicit else {"disable-explicit-type-casting": "true"}
    before = schema({"a": "INT", "v": source}, options=options)
    if fits:
        assert changed(before, lambda u: u.update_type("v", target)).by_name["v"].type == parse_type(target)
        return
    with pytest.raises(SchemaError, match="column 'v' cannot change from"):
        changed(before, lambda u: u.update_type("v", target))


def test_nullability() -> None:
    before = schema({"a": "INT", "v": "INT NOT NULL"})
    assert columns(changed(before, lambda u: u.update_type("v", "BIGINT"))) == "a INT, v BIGINT NOT NULL"
    assert columns(changed(before, lambda u: u.set_nullable("v"))) == "a INT, v INT"
    with pytest.raises(SchemaError, match=r"alter-column-null-to-not-null\.disabled' = 'false' allows"):
        changed(before, lambda u: u.set_nullable("a", False))
    allowed = schema({"a": "INT", "v": "INT"}, options={"alter-column-null-to-not-null.disabled": "false"})
    assert columns(changed(allowed, lambda u: u.set_nullable("a", False))) == "a INT NOT NULL, v INT"
    with pytest.raises(SchemaError, match="cannot be NOT NULL: the rows that are there have NULL in it"):
        changed(before, lambda u: u.add_column("z", "INT NOT NULL"))


def test_default_values_fit_their_columns() -> None:
    before = schema({"a": "INT", "s": "STRING", "d": "DATE"})
    after = changed(before, lambda u: u.set_default("a", "5").set_default("s", "'new'").set_default("d", "2024-01-31"))
    assert [field.default_value for field in after.fields] == ["5", "'new'", "2024-01-31"]
    with pytest.raises(SchemaError, match="the default value five of column 'a' is no INT"):
        changed(before, lambda u: u.set_default("a", "five"))
    with pytest.raises(SchemaError, match="the default value 'new' of column 's' is no INT"):
        changed(after, lambda u: u.update_type("s", "INT"))
    assert changed(after, lambda u: u.drop_default("s").update_type("s", "INT")).by_name["s"].default_value is None


def test_columns_move() -> None:
    before = schema({"a": "INT", "b": "INT", "c": "INT", "d": "INT", "s": "ROW<x INT, y INT>"})

    def names(update: Callable[[SchemaUpdate], object]) -> str:
        return "".join(changed(before, update).names)

    assert names(lambda u: u.move_column("c", first=True)) == "cabds"
    assert names(lambda u: u.move_column("a", last=True)) == "bcdsa"
    assert names(lambda u: u.move_column("a", after="c")) == "bcads"
    assert names(lambda u: u.move_column("d", after="a")) == "adbcs"
    assert names(lambda u: u.move_column("a", before="d")) == "bcads"
    assert names(lambda u: u.move_column("d", before="b")) == "adbcs"
    assert columns(changed(before, lambda u: u.move_column("s.y", first=True))).endswith("s ROW<y INT, x INT>")
    for wrong in (
        lambda u: u.move_column("a", first=True),
        lambda u: u.move_column("s", last=True),
        lambda u: u.move_column("b", after="b"),
    ):
        with pytest.raises(SchemaError, match="it is that column itself"):
            changed(before, wrong)
    for nothing in (lambda u: u.move_column("a"), lambda u: u.move_column("a", first=True, last=True)):
        with pytest.raises(OptionError, match="exactly one of"):
            changed(before, nothing)


def test_a_new_column_goes_before_the_partition_where_the_table_says_so() -> None:
    options = {"add-column-before-partition": "true"}
    before = schema({"a": "INT", "dt": "STRING", "hh": "STRING"}, partitions=["dt", "hh"], options=options)
    assert changed(before, lambda u: u.add_column("z", "INT")).names == ("a", "z", "dt", "hh")
    assert changed(before, lambda u: u.add_column("z", "INT", after="dt")).names == ("a", "dt", "z", "hh")


def test_ids_are_never_used_again() -> None:
    before = schema({"a": "INT", "b": "INT"})
    after = changed(before, lambda u: u.drop_column("b").add_column("b", "ROW<x INT, y ROW<z INT>>"))
    assert ids(after) == {"a": 0, "b": 2, "x": 3, "z": 4, "y": 5}
    assert after.highest_field_id == 5


def test_the_last_column_stays() -> None:
    with pytest.raises(SchemaError, match="column 'a' is the only one of the table"):
        changed(schema({"a": "INT"}), lambda u: u.drop_column("a"))
    assert columns(changed(schema({"a": "INT"}), lambda u: u.drop_column("b", if_exists=True))) == "a INT"


def test_comments() -> None:
    before = schema({"a": "INT", "s": "ROW<x INT>"})
    after = changed(before, lambda u: u.set_comment("s.x", "an x").set_table_comment("a table"))
    assert (after.comment, after.by_name["s"].type.fields[0].description) == ("a table", "an x")
    assert changed(after, lambda u: u.set_options({"comment": "b"})).comment == "b"
    assert changed(after, lambda u: u.unset_options("comment")).comment is None
    with pytest.raises(UnsupportedFeature, match="asks for a BLOB or VECTOR column, and only a new column"):
        changed(before, lambda u: u.set_comment("a", "__BLOB_FIELD"))


def test_names_meet_in_any_letter_case_where_that_is_asked_for() -> None:
    before = schema({"Id": "INT", "Address": "ROW<City STRING>", "tags": "ARRAY<ROW<Name STRING>>"})

    def update(u: SchemaUpdate) -> None:
        u.rename_column("address.CITY", "town").add_column("ADDRESS.zip", "INT", after="TOWN")
        u.drop_column("ID").set_comment("Tags.Element.name", "x")

    after = changed(before, update, case_sensitive=False)
    assert columns(after) == "Address ROW<town STRING, zip INT>, tags ARRAY<ROW<Name STRING COMMENT 'x'>>"
    with pytest.raises(SchemaError, match="there is a column 'Id' already"):
        changed(before, lambda u: u.add_column("ID", "INT"), case_sensitive=False)
    with pytest.raises(SchemaError, match="there is a column 'Id' already"):
        changed(before, lambda u: u.rename_column("tags", "ID"), case_sensitive=False)
    assert changed(before, lambda u: u.rename_column("id", "ID"), case_sensitive=False).names[0] == "ID"
    with pytest.raises(SchemaError, match="there is no column 'ID'"):
        changed(before, lambda u: u.drop_column("ID"))


def test_the_error_names_the_change() -> None:
    with pytest.raises(SchemaError, match=r"^cannot add column b INT AFTER zz: there is no column 'zz'; found: a$"):
        changed(schema({"a": "INT"}), lambda u: u.add_column("b", "INT", after="zz"))


def test_paths_with_points_in_names() -> None:
    before = schema({"a": "INT", "s": "ROW<`x.y` INT>"})
    assert columns(changed(before, lambda u: u.update_type("s.`x.y`", "BIGINT"))) == "a INT, s ROW<x.y BIGINT>"
    assert columns(changed(before, lambda u: u.update_type(("s", "x.y"), "BIGINT"))) == "a INT, s ROW<x.y BIGINT>"
    for wrong in ("", "a.", ".a", "a..b", ()):
        with pytest.raises(SchemaError, match="is no name of a column"):
            changed(before, lambda u, wrong=wrong: u.drop_column(wrong))


def test_names_in_any_case_find_what_is_in_arrays_maps_and_structs() -> None:
    fields = schema({"a": "ARRAY<ROW<xY INT>>", "m": "MAP<STRING, ROW<z INT>>", "Dup": "INT", "dup": "INT"}).fields
    for path, found in (
        (("A", "ELEMENT", "XY"), ("a", "element", "xY")),
        (("M", "Value", "Z"), ("m", "value", "z")),
        (("a", "key", "xy"), ("a", "key", "xy")),  # an array has no key
        (("DUP",), ("DUP",)),  # two are meant
        (("dup",), ("dup",)),
        (("none", "X"), ("none", "X")),
    ):
        assert spelled(fields, path) == found
    assert type_at(fields, ("a", "element", "xY")) == parse_type("INT")
    assert type_at(fields, ("a", "xY")) is None


def test_a_column_moves_by_a_name_in_another_case_where_case_does_not_count() -> None:
    before = schema({"aA": "INT", "b": "INT", "c": "INT"})
    moved = changed(before, lambda u: u.move_column("C", after="AA"), case_sensitive=False)
    assert columns(moved) == "aA INT, c INT, b INT"
    first = changed(before, lambda u: u.move_column("C", first=True), case_sensitive=False)
    assert columns(first) == "c INT, aA INT, b INT"


@pytest.mark.parametrize("places", [{"after": "a", "first": True}, {"after": "a", "before": "b"}])
def test_one_place_at_a_time(places: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="exclude each other"):
        SchemaUpdate().add_column("x", "INT", **places)


def test_keys_and_partitions_are_set_once() -> None:
    keyed = schema({"k": "INT NOT NULL", "p": "INT"}, keys=["k"])
    with pytest.raises(SchemaError, match=r"has the primary key \(k\); drop it first"):
        changed(keyed, lambda u: u.set_options({"primary-key": "p"}), has_rows=False)
    parted = schema({"k": "INT", "p": "INT"}, partitions=["p"])
    with pytest.raises(SchemaError, match="is partitioned by p, which cannot change"):
        changed(parted, lambda u: u.set_options({"partition": "k"}), has_rows=False)


def test_a_block_makes_its_changes_at_its_end_or_none() -> None:
    made: list[int] = []

    def publish(changes: tuple[object, ...]) -> int:
        made.append(len(changes))
        return 7

    update = SchemaUpdate()
    with SchemaBlock(update, publish) as change:
        assert change is update
        change.drop_column("a")
        assert made == []
    assert (made, update.result) == ([1], 7)
    block = SchemaBlock(SchemaUpdate(), publish)
    with suppress(ZeroDivisionError), block as change:
        change.drop_column("a")
        raise ZeroDivisionError
    assert made == [1]
    with pytest.raises(UnsupportedMethod, match=r"change.add_column\(...\)"):
        getattr(block, "add_column")  # noqa: B009
    assert not hasattr(block, "_other")


def test_a_column_does_not_become_not_null_by_the_way() -> None:
    update = c.UpdateType(("a",), parse_type("BIGINT NOT NULL"), keep_nullable=False)
    with pytest.raises(SchemaError, match="may hold NULL"):
        changed_schema(schema({"a": "INT"}), (update,), lambda: True)
    allowed = schema({"a": "INT"}, options={"alter-column-null-to-not-null.disabled": "false"})
    assert columns(changed_schema(allowed, (update,), lambda: True)) == "a BIGINT NOT NULL"


@pytest.mark.parametrize(
    ("earlier", "later", "gone"),
    [
        (lambda u: u.drop_column("v"), lambda u: u.set_comment("v.f1", "x"), "drop column v"),
        (lambda u: u.drop_column("v.f1"), lambda u: u.update_type("v.f1", "INT"), "drop column v.f1"),
        (lambda u: u.rename_column("v", "w"), lambda u: u.drop_column("v.f2"), "rename column v to w"),
        (lambda u: u.drop_column("k"), lambda u: u.drop_column("v.k"), None),
        (lambda u: u.set_comment("v.f1", "x"), lambda u: u.drop_column("v.f1.y"), None),
    ],
)
def test_the_error_names_the_change_of_the_same_call_that_took_the_column_away(
    earlier: Callable[[SchemaUpdate], object], later: Callable[[SchemaUpdate], object], gone: str | None
) -> None:
    with pytest.raises(PaimonError) as error:
        changed(schema(NESTED), lambda u: (earlier(u), later(u)))
    found = str(error.value).partition("; it comes after ")[2]
    assert found == ("" if gone is None else f"'{gone}' of the same call")


def test_a_key_stays_not_null_and_what_is_nested_may_hold_null() -> None:
    before = schema({"k": "INT", "v": "ROW<f1 INT NOT NULL>"}, ["k"])
    assert changed(before, lambda u: u.set_nullable("k", False)) == before
    after = changed(before, lambda u: u.set_nullable("v.f1"))
    assert columns(after) == "k INT NOT NULL, v ROW<f1 INT>"
    with pytest.raises(SchemaError, match="primary key"):
        changed(before, lambda u: u.set_nullable("k"))


def test_places_and_names_in_structs_where_case_does_not_count() -> None:
    before = schema(NESTED)

    def after(update: Callable[[SchemaUpdate], object]) -> str:
        return columns(changed(before, update, case_sensitive=False))

    nested = "v ROW<f1 STRING, f2 ROW<f1 INT, f2 BIGINT>>"
    assert after(lambda u: u.add_column("z", "INT", first=True)) == f"z INT, k INT, {nested}"
    assert after(lambda u: u.move_column("V", first=True)) == f"{nested}, k INT"
    assert after(lambda u: u.rename_column("v.F2", "K")) == "k INT, v ROW<f1 STRING, K ROW<f1 INT, f2 BIGINT>>"
    with pytest.raises(SchemaError, match=r"there is a column 'v\.f2' already"):
        after(lambda u: u.rename_column("v.f1", "F2"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (c.UpdateComment(("s", "x"), "an x"), "set the comment of s.x to 'an x'"),
        (c.UpdateComment(("s",), None), "set the comment of s to none"),
        (c.SetTableComment("of b"), "set the comment of the table to 'of b'"),
        (c.SetTableComment(None), "set the comment of the table to none"),
        (c.UpdateDefault(("a",), "3"), "set the default value of a to 3"),
        (c.UpdateDefault(("a",), None), "set the default value of a to none"),
        (c.UpdateNullable(("a",), True), "make column a nullable"),
        (c.UpdateNullable(("a",), False), "make column a NOT NULL"),
        (c.MoveColumn(("a",), FIRST), "move column a FIRST"),
        (c.SetOption("a", "b"), "set the option 'a' to 'b'"),
        (c.UnsetOption("a"), "unset the option 'a'"),
        (c.DropPrimaryKey(), "drop the primary key"),
    ],
    ids=str,
)
def test_changes_in_words(change: c.SchemaChange, words: str) -> None:
    assert str(change) == words
    assert c.described((change, c.UnsetOption("z"))) == f"{words}; unset the option 'z'"
    assert c.described(()) == "no change"
