"""sys.max_pt and current names are found and exchanged for literals; the rest of a text stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import SqlError, UnsupportedFeature
from paimon_spark.sql.queries.blob_functions import reference_to
from paimon_spark.sql.queries.functions import BlobCall, catalog_calls, current_names, with_values
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
    calls = catalog_calls(text, NAMES)
    assert [text[call.start : call.end] for call in calls] == [call for _, call in pairs]
    rendered = with_values(text, dict.fromkeys(calls, "'2026-11-01 and more'"))
    expected = "".join(f"{other} '2026-11-01 and more' " for other, _ in pairs) + last
    assert rendered.split() == expected.split()
    assert rendered.count("\n") == text.count("\n")


def test_places_behind_a_call_stay() -> None:
    text = "SELECT sys.max_pt('db.table'), x"
    rendered = with_values(text, dict.fromkeys(catalog_calls(text, NAMES), "'1'"))
    assert rendered == "SELECT '1'                   , x"
    assert rendered.index("x") == text.index(", x") + 2


# The official connector (paimon-spark-4.1_2.13-2.0.0) refuses these too: "Wrong number of inputs, expected 1", "Table
# name must be a literal".
@pytest.mark.parametrize("arguments", ["", "'a', 'b'", "concat('a', '')", "dt", "NULL", "1", ":name", "'a' || 'b'"])
def test_the_argument_is_one_string(arguments: str) -> None:
    with pytest.raises(SqlError, match=r"SQL, line 2, column \d+: .*sys.max_pt"):
        catalog_calls(f"SELECT *\nFROM t WHERE dt = sys.max_pt({arguments})", NAMES)


@pytest.mark.parametrize("name", ["sys.bucket", "Lake.sys.MOD_BUCKET", "sys.`hive_bucket`"])
def test_other_functions_are_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"line 1, column 8: .*{name.rpartition('.')[2].strip('`').lower()}"):
        catalog_calls(f"SELECT {name}(1, 2)", NAMES)


def test_functions_of_references_have_one_argument_of_any_form() -> None:
    text = "SELECT sys.path_to_descriptor('/x''y'), Lake.sys.DESCRIPTOR_TO_STRING(f(a, (b)[1]))"
    first, second = catalog_calls(text, NAMES)
    assert (text[first.start : first.end], text[second.start : second.end]) == (
        "sys.path_to_descriptor('/x''y')",
        "Lake.sys.DESCRIPTOR_TO_STRING(f(a, (b)[1]))",
    )
    assert isinstance(first, BlobCall)
    assert isinstance(second, BlobCall)
    assert (first.path, second.argument, second.path) == ("/x'y", "f(a, (b)[1])", None)
    assert reference_to("/x") == "X'02" + b"CSEDBOLB".hex().upper() + "020000002F78" + "00" * 8 + "FF" * 8 + "'"
    for wrong in ("sys.path_to_descriptor()", "sys.path_to_descriptor(a, b)", "sys.descriptor_to_string(a"):
        with pytest.raises(SqlError, match="takes one argument, in parentheses"):
            catalog_calls(f"SELECT {wrong}", NAMES)


def test_a_text_that_is_no_sql_is_left_alone() -> None:
    assert catalog_calls("sys.max_pt('t", NAMES) == ()


@pytest.mark.parametrize(
    ("text", "rendered"),
    [
        ("SELECT current_catalog(), CURRENT_DATABASE( ) FROM t",
         "SELECT c AS current_catalog(), d AS current_schema() FROM t"),
        ("SELECT DISTINCT current_schema()", "SELECT DISTINCT d AS current_schema()"),
        ("SELECT a, current_catalog() AS x, current_catalog() y", "SELECT a, c AS x, c y"),
        ("SELECT concat('a', current_catalog(), 'b')", "SELECT concat('a', c, 'b')"),
        ("SELECT array(1)[0], [current_catalog(), 1], current_catalog()",
         "SELECT array(1)[0], [c, 1], c AS current_catalog()"),
        ("SELECT 1 WHERE a IN ('x', current_schema(), 'y')", "SELECT 1 WHERE a IN ('x', d, 'y')"),
        ("SELECT a FROM t GROUP BY b, current_schema(), c", "SELECT a FROM t GROUP BY b, d, c"),
        ("SELECT (SELECT current_schema()), s.current_schema(), 'current_schema()'",
         "SELECT (SELECT d AS current_schema()), s.current_schema(), 'current_schema()'"),
        ("INSERT INTO t VALUES (1, current_schema(), 2)", "INSERT INTO t VALUES (1, d, 2)"),
        ("CREATE TABLE t (a STRING DEFAULT current_schema())", None),
        ("CREATE TABLE t AS SELECT current_schema() AS a", "CREATE TABLE t AS SELECT d AS a"),
        ("CREATE OR REPLACE VIEW v AS SELECT current_schema() AS a", None),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT current_schema() AS a",
         "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT d AS a"),
        ("SELECT 'current_schema() ", None),
    ],
)  # fmt: skip
def test_names_of_the_session(text: str, rendered: str | None) -> None:
    values = {
        call: ("c" if call.is_catalog else "d") + (f" AS {call.alias}" if call.alias else "")
        for call in current_names(text)
    }
    assert "".join(with_values(text, values).split()) == "".join((rendered or text).split())
