"""Which columns rows may lack: nothing that is stored, or given, is lost without a word."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.staging import put

from paimon_spark.catalogs.create import create_table, new_schema
from paimon_spark.format.rules.missing_columns import DEFAULT, NULL
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.write.absent_columns import omissible_columns
from paimon_spark.tables.open import open_table

INT = pa.int32()
ALL = ("a", "b", "g", "h")
COLUMNS = pa.schema([pa.field("k", INT, False), *((name, INT) for name in ALL)])
SUMS = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum"}
PARTIAL = {"merge-engine": "partial-update"}


def make(path: Path, options: Mapping[str, str], keys: Sequence[str] = ("k",), defaults: Sequence[str] = ()) -> Table:
    schema = new_schema(COLUMNS, keys, (), {"bucket": "1", **options, **({} if keys else {"bucket-key": "k"})})
    fields = tuple(replace(f, default_value="5") if f.name in defaults else f for f in schema.fields)
    create_table(str(path), replace(schema, fields=fields))
    return open_table(str(path))


SETS = [frozenset(c) for n in range(1, 5) for c in itertools.combinations(ALL, n)]
STORED, GIVEN = dict(zip(ALL, (1, 2, 3, 4), strict=True)), dict(zip(ALL, (10, 20, 30, 40), strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {},
        PARTIAL,
        {**PARTIAL, "fields.g.sequence-group": "a,b"},
        {**PARTIAL, "fields.g,h.sequence-group": "a,b"},
        {**PARTIAL, "fields.g.sequence-group": "a", "fields.h.sequence-group": "b"},
        {**PARTIAL, "fields.g.sequence-group": "a,b", "fields.a.aggregate-function": "sum"},
        SUMS,
        {**SUMS, "fields.b.aggregate-function": "last_value"},
    ],
)
def test_columns_may_be_absent_where_no_stored_and_no_given_value_is_lost(
    tmp_path: Path, options: dict[str, str]
) -> None:
    """For every set of absent columns, a key each: what the engine makes of nulls in their place decides."""
    table = make(tmp_path / "t", options)
    put(table, [(key, *STORED.values()) for key in range(len(SETS))])
    put(table, [(k, *(None if n in absent else GIVEN[n] for n in ALL)) for k, absent in enumerate(SETS)])
    found = table.scan().to_arrow().to_pylist()
    assert len(found) == len(SETS)
    for row in found:
        absent = SETS[row["k"]]
        allowed = omissible_columns(table, ["k", *(name for name in ALL if name not in absent)])
        lost = {name for name in ALL if row[name] != STORED[name] if name in absent}
        unheard = {name for name in ALL if row[name] == STORED[name] if name not in absent}
        assert (allowed == absent) is (not lost and not unheard), row
        assert allowed <= absent - lost


@pytest.mark.parametrize("options", [PARTIAL, SUMS])
def test_a_column_that_says_which_row_is_newer_is_never_absent(tmp_path: Path, options: dict[str, str]) -> None:
    table = make(tmp_path / "t", {**options, "sequence.field": "h"})
    assert omissible_columns(table, ["k"]) == {"a", "b", "g"}


def test_a_default_value_is_taken_where_it_replaces_nothing(tmp_path: Path) -> None:
    keyless = make(tmp_path / "append", {}, keys=(), defaults=("b",))
    assert omissible_columns(keyless, ["k", "a"]) == {"b"}
    assert omissible_columns(keyless, ["k", "a"], replaces=True) == {"b"}
    keyed = make(tmp_path / "keyed", PARTIAL, defaults=("b",))
    assert omissible_columns(keyed, ["k", "a"]) == {"g", "h"}
    assert omissible_columns(keyed, ["k", "a"], replaces=True) == set()


def test_the_caller_may_ask_for_null_or_default(tmp_path: Path) -> None:
    table = make(tmp_path / "t", {}, defaults=("b",))
    assert omissible_columns(table, ["K", "A"], NULL) == {"g", "h"}
    assert omissible_columns(table, ["K", "A"], DEFAULT) == {"b", "g", "h"}
