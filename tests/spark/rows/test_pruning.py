"""What the text of a condition tells before Spark reads it, and what it must not be taken to tell."""

from __future__ import annotations

import pytest

from paimon_spark.arrow.predicates.predicate import AlwaysTrue
from paimon_spark.errors import SqlError
from paimon_spark.format.types import MAX_LENGTH, DataField, DataType, Root
from paimon_spark.spark.rows.expressions import check_no_star
from paimon_spark.spark.rows.pruning import Pruning, pruning_of
from paimon_spark.sql.queries.conjuncts import equalities

FIELDS = tuple(
    DataField(n, name, DataType(Root.VARCHAR, length=MAX_LENGTH)) for n, name in enumerate(("id", "pt", "limit"))
)


def told(condition: str) -> Pruning:
    return pruning_of(condition, FIELDS, "t", None)


def test_a_condition_of_columns_is_the_predicate_itself() -> None:
    for condition in ("pt = 'a'", "t.pt = 'a' AND id = 'b'", "(pt = 'a' OR pt = 'b')", "pt = 'a' -- AND id = 'b'"):
        assert told(condition).is_whole
        assert not isinstance(told(condition).predicate, AlwaysTrue)


@pytest.mark.parametrize(
    "tail",
    """ORDER BY id LIMIT 1; LIMIT 1; OFFSET 1; GROUP BY pt; HAVING id > 'b'; UNION SELECT 1; EXCEPT SELECT 1
    MINUS SELECT 1
    INTERSECT SELECT 1; QUALIFY id > 'b'; SORT BY id; CLUSTER BY id; DISTRIBUTE BY id; WINDOW w AS (PARTITION BY id)
    |> WHERE id = 'b'""".replace("\n", ";").split(";"),
)
def test_a_clause_behind_a_condition_is_left_to_spark(tail: str) -> None:
    """Spark refuses it. A job that trusted the condition alone would delete whole partitions."""
    for condition in (f"pt = 'a' {tail}", f"true {tail}"):
        assert told(condition) == Pruning()
    assert equalities(f"t.id = s.id {tail}") == ([], False)


def test_a_field_that_may_be_a_column_of_the_source_is_left_to_spark() -> None:
    """In the ON of a MERGE whose source is called s, s.kind is no field of the target's column s."""
    kind = DataField(1, "kind", DataType(Root.INT))
    fields = (FIELDS[0], DataField(2, "s", DataType(Root.ROW, fields=(kind,))))
    assert pruning_of("s.kind = 1", fields, "t", None) == Pruning()
    assert pruning_of("1 = 1", fields, "t", None).is_whole


def test_a_semicolon_and_a_closed_parenthesis_are_left_to_spark() -> None:
    for condition in ("pt = 'a';", "pt = 'a') OR (pt = 'b'", "pt = 'a'; DROP TABLE t"):
        assert told(condition) == Pruning()


@pytest.mark.parametrize("expression", ["concat_ws(',', *) LIKE '%a%'", "hash(t.*) = 1", "hash(*) = 1", "f(a, *)"])
def test_a_star_is_refused(expression: str) -> None:
    """Spark would expand it to the columns that tell where a row lies too."""
    with pytest.raises(SqlError, match=r"DELETE of t: the \* in .* name the columns"):
        check_no_star("DELETE of t", [None, expression])


def test_what_is_no_star_of_columns() -> None:
    texts = ["a * 2 > 3", "(a) * b = 1", "id IN (SELECT * FROM u)", "a > (SELECT max(count(*)) FROM u)", "x = '(*)'"]
    check_no_star("DELETE of t", texts)
