"""Where statements begin and end in a text of several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.errors import SqlError
from paimon_spark.sql.text.script import is_complete, split_script

QUOTED = "';', \"a;b\", 'it''s;', 'x\\';y', `a;b`"


def statements(text: str) -> list[str]:
    return [statement.text.strip() for statement in split_script(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ; ;\n;", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1;", ["SELECT 1"]),
        ("SELECT 1; SELECT 2", ["SELECT 1", "SELECT 2"]),
        (f"SELECT {QUOTED};SELECT 2", [f"SELECT {QUOTED}", "SELECT 2"]),
        ("SELECT r'\\'; SELECT 2", ["SELECT r'\\'", "SELECT 2"]),
        ("-- a; b\nSELECT 1 /* ; /* ; */ ; */ + 1; -- end;", ["SELECT 1 /* ; /* ; */ ; */ + 1"]),
        ("SELECT 1 -- one; still one\n+ 1;SELECT 2", ["SELECT 1 -- one; still one\n+ 1", "SELECT 2"]),
        ("SELECT CASE WHEN a THEN b END; SELECT end FROM t", ["SELECT CASE WHEN a THEN b END", "SELECT end FROM t"]),
        (
            "BEGIN IF a THEN SELECT CASE WHEN b THEN 1 END; END IF; WHILE c DO SELECT 1; END WHILE; END; SELECT 2",
            ["BEGIN IF a THEN SELECT CASE WHEN b THEN 1 END; END IF; WHILE c DO SELECT 1; END WHILE; END", "SELECT 2"],
        ),
        ("l: BEGIN BEGIN SELECT 1; END; CASE WHEN a THEN SELECT 1; END CASE; END l; SELECT 2",
         ["l: BEGIN BEGIN SELECT 1; END; CASE WHEN a THEN SELECT 1; END CASE; END l", "SELECT 2"]),
    ],
)  # fmt: skip
def test_statements_of_a_text(text: str, expected: list[str]) -> None:
    assert statements(text) == expected


def test_places_are_those_of_the_script() -> None:
    text = "-- one\nSELECT 1;\n\n SELECT 2; SELECT\n3"
    assert [(statement.line, statement.text) for statement in split_script(text)] == [
        (2, "\nSELECT 1"),
        (4, "\n\n\n SELECT 2"),
        (4, f"\n\n\n{' ' * len(' SELECT 2; ')}SELECT\n3"),
    ]


def test_rows_that_are_to_be_shown_one_after_the_other() -> None:
    text = "SELECT 1\\G\nSELECT 'a\\\\G';SELECT 2 \\g SELECT 3"
    assert [(statement.text.strip(), statement.vertical) for statement in split_script(text)] == [
        ("SELECT 1", True),
        ("SELECT 'a\\\\G'", False),
        ("SELECT 2", True),
        ("SELECT 3", False),
    ]


@pytest.mark.parametrize("text", ["SELECT 'a; SELECT 1;", "SELECT `a;", "SELECT 1; /* ;"])
def test_what_has_no_end(text: str) -> None:
    assert not is_complete(text)
    with pytest.raises(SqlError, match=r"^SQL, line 1, column \d+: the .* has no end"):
        split_script(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True), ("  ", True), ("-- nothing", True), ("SELECT 1", False), ("SELECT 1;", True),
        ("SELECT 1; -- and so on", True), ("SELECT 1; SELECT 2", False), ("SELECT ';'", False),
        ("SELECT 1\\G", True), ("SELECT 1\\G SELECT", False), ("SELECT '\\\\G'", False),
        ("BEGIN SELECT 1;", False), ("BEGIN SELECT 1; END;", True),
    ],
)  # fmt: skip
def test_complete_texts(text: str, expected: bool) -> None:
    assert is_complete(text) is expected


PIECES = st.lists(
    st.sampled_from(["SELECT", "a", "'x;y'", '";"', "`;`", "1.5", "/* ; */", "-- ;\n", "\n", "(", ")", "+"]), max_size=8
).map(" ".join)


@given(st.lists(PIECES, max_size=5), st.booleans())
def test_pieces_that_were_put_together(pieces: list[str], ended: bool) -> None:
    text = "\n;".join(pieces) + ("\n;" if ended else "")
    found = split_script(text)
    alone = [statement for piece in pieces for statement in split_script(piece)]
    assert [statement.text.strip() for statement in found] == [statement.text.strip() for statement in alone]
    assert all(statement.text.strip() in text for statement in found)
