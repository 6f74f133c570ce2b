"""What operations on a DataFrame need of its table: never fewer columns and rows than Spark will look at."""

from __future__ import annotations

from typing import Any

import pytest

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.spark.native.recorded_needs import Needs, Operation, needs_of
from paimon_spark.store.pruning.top_n import TopN

_STRUCT = DataType(Root.ROW, fields=(DataField(9, "id", DataType(Root.INT)),))
FIELDS = (
    DataField(0, "id", DataType(Root.BIGINT)),
    DataField(1, "n", DataType(Root.INT)),
    DataField(2, "a b", DataType(Root.VARCHAR, length=9)),
    DataField(3, "paimon_recorded", _STRUCT),
)
ID = TopN("id", 3, descending=True, nulls_first=False)


def needs(*operations: tuple[Any, ...], dialect: Dialect = Dialect.ANSI) -> Needs:
    return needs_of([Operation(name, tuple(args)) for name, *args in operations], FIELDS, "UTC", dialect)


def test_conditions_and_columns_that_are_understood() -> None:
    found = needs(("where", "id = 7 AND upper(`a b`) = 'X'"), ("select", "n"), ("filter", "n = 1 OR n = 2"))
    assert found.where is not None
    assert [part in found.where for part in ("id = 7", "upper", "n = 1 OR n = 2")] == [True, False, True]
    assert found.columns == ("id", "n", "a b")
    assert found.counted is None
    assert needs(("where", "id = 7 -- one"), ("drop", "n")).counted == "(id = 7 -- one\n)"
    assert needs(("drop", "n")).columns == ("id", "a b", "paimon_recorded")


@pytest.mark.parametrize(
    "operations",
    [
        (("limit", 5), ("where", "id = 7")),
        (("selectExpr", "n AS id"), ("where", "id = 7")),
        (("where", "id + nope = 7"),),
        (("where", "id = 7) OR (n = 3"),),
        (("where", "id IN (SELECT id FROM other)"),),
    ],
)
def test_conditions_that_choose_no_rows(operations: tuple[tuple[Any, ...], ...]) -> None:
    assert needs(*operations).where is None
    assert needs(*operations).counted is None


def test_a_nested_column_is_not_taken_for_one_of_the_table() -> None:
    found = needs(("where", "paimon_recorded.id = 7"))
    assert (found.where, found.counted) == (None, "(paimon_recorded.id = 7\n)")


def test_nothing_is_known_where_names_or_literals_mean_something_else() -> None:
    assert needs(("where", "id = 7"), ("select", "n"), dialect=Dialect.OTHER) == Needs()


@pytest.mark.parametrize("columns", [("*",), ("n", "nope"), ("n", "`(id)?+.+`"), ("struct(*)",)])
def test_all_columns_are_read_for_a_star_an_unknown_name_and_a_pattern(columns: tuple[str, ...]) -> None:
    assert needs(("selectExpr", *columns)).columns is None


def test_first_rows_need_all_conditions() -> None:
    descending = Operation("orderBy", ("id",), {"ascending": False})
    limit = Operation("limit", (3,))
    where = Operation("where", ("n = 2",))
    unclear = Operation("where", ("upper(`a b`) = 'X'",))
    named = Operation("select", ("id",))

    def first(*operations: Operation) -> TopN | None:
        return needs_of(operations, FIELDS, "UTC", Dialect.ANSI).first

    assert first(descending, limit) == ID
    assert first(where, descending, named, limit) == ID
    assert first(descending, where, limit, unclear) == ID
    assert first(descending, unclear, limit) is None
    assert first(limit, descending, limit) is None
    assert first(descending, Operation("selectExpr", ("explode(array(1, 2))",)), limit) is None
