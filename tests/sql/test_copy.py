"""COPY INTO is read by its own rules for strings, and takes nothing but queries in parentheses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import SqlError
from paimon_spark.sql.parse import parse
from paimon_spark.sql.statements import CopyInto, Untouched
from paimon_spark.sql.text.names import Names

NAMES = Names()


def copy(text: str) -> CopyInto:
    found = parse(text, NAMES)
    assert isinstance(found, CopyInto)
    return found


def pattern(literal: str) -> object:
    text = f"COPY INTO paimon.a.t FROM '/in' FILE_FORMAT = (TYPE = CSV) PATTERN = {literal}"
    return copy(text).options["PATTERN"]


# From the official connector (paimon-spark-4.1_2.13-2.0.0): the pattern 'b\.csv' is found in b.csv, the value '\\N' of
# NULL_IF is a backslash and N.
@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'b\.csv'", r"b\.csv"),
        (r"'\\N'", r"\N"),
        (r"'\n\t\r'", "\n\t\r"),
        (r"'it\'s'", "it's"),
        ("'it''s'", "it's"),
        ('"it\'s ""x"""', 'it\'s "x"'),
        (r"'\"'", r"\""),
        ("''", ""),
        (r"'\d+ä{2}'", r"\d+ä{2}"),
    ],
)
def test_strings(literal: str, value: str) -> None:
    assert pattern(literal) == value


@given(st.text(st.sampled_from("a'\"\\n.{};)\n")))
def test_any_text_can_be_written_as_a_string(value: str) -> None:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    assert pattern(f"'{escaped}'") == value


def test_lists_and_words() -> None:
    options = r"TYPE = CSV, NULL_IF = ('', '\\N'), QUOTE = '''', COMPRESSION = gzip"
    text = f"COPY INTO paimon.a.t FROM '/in' FILE_FORMAT = ({options})"
    assert copy(text).format_options == {"NULL_IF": ("", "\\N"), "QUOTE": "'", "COMPRESSION": "gzip"}


def test_a_query_needs_no_table_of_ours() -> None:
    found = copy("COPY INTO '/out' FROM (SELECT ')' AS a FROM t) FILE_FORMAT = (TYPE = JSON)")
    assert found.query is not None
    assert found.query.text.strip() == "SELECT ')' AS a FROM t"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("COPY INTO '/out' FROM (DROP TABLE paimon.a.t) FILE_FORMAT = (TYPE = CSV)", "rows of a query"),
        ("COPY INTO '/out' FROM (INSERT INTO paimon.a.t SELECT 1) FILE_FORMAT = (TYPE = CSV)", "rows of a query"),
        ("COPY INTO '/out' FROM () FILE_FORMAT = (TYPE = CSV)", "rows of a query"),
        ("COPY INTO '/out' FROM (SELECT 1", "has no end"),
        ("COPY INTO paimon.a.t FROM '/in' FILE_FORMAT = (TYPE = CSV) PATTERN = 1", "regular expression"),
        ("COPY INTO paimon.a.t FROM '/in' FILE_FORMAT = (TYPE = CSV, NULL_IF = (1))", "string"),
        ("COPY INTO paimon.a.t FROM r'/in' FILE_FORMAT = (TYPE = CSV)", "string in quotes"),
        ("COPY INTO paimon.a.t FROM '/in' FILE_FORMAT = (TYPE = CSV, TYPE = JSON)", "twice"),
    ],
)
def test_refused(text: str, told: str) -> None:
    with pytest.raises(SqlError, match=told):
        parse(text, NAMES)


def test_a_table_of_spark_is_left_to_spark() -> None:
    text = "COPY INTO '/out' FROM a.t FILE_FORMAT = (TYPE = CSV)"
    assert parse(text, NAMES) == Untouched(text)
