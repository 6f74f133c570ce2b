"""sys.max_pt is found and exchanged for a literal; the rest of a text stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.queries.functions import max_partitions, with_values
from paimon_spark.sql.text.names import Names

NAMES = Names("Lake")
CALLS = st.sampled_from(
    [
        "sys.max_pt('t')",
        'lake.SYS.max_pt("a.t")',
        "`sys`.`max_pt` ( 't' )",
        "sys.max_pt(\n  'it''s')",
        "sys . max_pt('')",
    ]
)
OTHERS = st.sampled_from(
    [
        "SELECT ", " = 'sys.max_pt(''t'')' ", "`sys.max_pt('t')`", " -- sys.max_pt('t')\n", "/* sys.bucket(1) */",
        " sys.max_pt ", " db.sys.max_pt('t') ", " max_pt('t') ", " sys.max_ptx('t')", " other.sys.bucket(1, 2) ",
        "{x} ä\n", "CALL sys.max_pt('t')", " bucket(2, id) ", "INSERT INTO sys.bucket (a) ",
    ]
)  # fmt: skip


@given(st.lists(st.tuples(OTHERS, CALLS)), OTHERS)
def test_calls_are_found_and_nothing_else_is_changed(pairs: list[tuple[str, str]], last: str) -> None:
    text = "".join(f"{other} {call} " for other, call in pairs) + last
    calls = max_partitions(text, NAMES)
    assert [text[call.start : call.end] for call in calls] == [call for _, call in pairs]
    rendered = with_values(text, dict.fromkeys(calls, "'2026-11-01 and more'"))
    expected = "".join(f"{other} '2026-11-01 and more' " for other, _ in pairs) + last
    assert rendered.split() == expected.split()
    assert rendered.count("\n") == text.count("\n")


def test_places_behind_a_call_stay() -> None:
    text = "SELECT sys.max_pt('db.table'), x"
    rendered = with_values(text, dict.fromkeys(max_partitions(text, NAMES), "'1'"))
    assert rendered == "SELECT '1'                   , x"
    assert rendered.index("x") == text.index(", x") + 2


# The official connector (paimon-spark-4.1_2.13-2.0.0) refuses these too: "Wrong number of inputs, expected 1", "Table
# name must be a literal".
@pytest.mark.parametrize("arguments", ["", "'a', 'b'", "concat('a', '')", "dt", "NULL", "1", ":name", "'a' || 'b'"])
def test_the_argument_is_one_string(arguments: str) -> None:
    with pytest.raises(SqlError, match=r"SQL, line 2, column \d+: .*sys.max_pt"):
        max_partitions(f"SELECT *\nFROM t WHERE dt = sys.max_pt({arguments})", NAMES)


@pytest.mark.parametrize("name", ["sys.bucket", "Lake.sys.MOD_BUCKET", "sys.`hive_bucket`", "sys.path_to_descriptor"])
def test_other_functions_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"line 1, column 8: .*{name.rpartition('.')[2].strip('`').lower()}"):
        max_partitions(f"SELECT {name}(1, 2)", NAMES)


def test_a_text_that_is_no_sql_is_left_alone() -> None:
    assert max_partitions("sys.max_pt('t", NAMES) == ()
