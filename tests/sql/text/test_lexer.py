"""Tokens of SQL as Spark 4 reads them."""

from __future__ import annotations

import pytest

from paimon_spark.errors import SqlError
from paimon_spark.sql.text.lexer import Kind, tokenize
from paimon_spark.sql.text.literals import number_value, string_value


def texts(sql: str) -> list[str]:
    return [token.text for token in tokenize(sql)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a.b", ["a", ".", "b"]),
        ("1a 1L 1.5 .5 1.e3 db.1t", ["1a", "1L", "1.5", ".5", "1.e3", "db", ".", "1t"]),
        ("'it''s' 'a\\'b'", ["'it''s'", "'a\\'b'"]),
        ("r'a\\' x'4F'", ["r'a\\'", "x'4F'"]),
        ("t$files t$branch_b$files", ["t$files", "t$branch_b$files"]),
        ('`a``b` "x""y"', ["`a``b`", '"x""y"']),
        ("a -- b 'c\nd", ["a", "d"]),
        ("a /* b /* c */ ' */ d", ["a", "d"]),
        ("/*+ BROADCAST(t) */ a", ["a"]),
        ("a<=>b => |> ||", ["a", "<=>", "b", "=>", "|>", "||"]),
        ("array<array<int>>", ["array", "<", "array", "<", "int", ">", ">"]),
        (":p ? {x}", [":", "p", "?", "{", "x", "}"]),
    ],
)
def test_tokens(sql: str, expected: list[str]) -> None:
    assert texts(sql) == expected
    assert all(sql[token.start : token.end] == token.text for token in tokenize(sql))


def test_a_quoted_name_stands_for_what_is_in_its_quotes() -> None:
    (token,) = tokenize("`a``b.c`")
    assert (token.kind, token.name, token.upper) == (Kind.QUOTED, "a`b.c", "")


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT\n  'abc", "SQL, line 2, column 3: the string 'abc has no end; close it with '"),
        ("SELECT `a", "SQL, line 1, column 8: the quoted name `a has no end; close it with `"),
        ("SELECT /* a /* b */", "SQL, line 1, column 8: the comment /* a /* b */ has no end; close it with */"),
    ],
)
def test_what_has_no_end_is_refused_with_its_place(sql: str, message: str) -> None:
    with pytest.raises(SqlError) as raised:
        tokenize(sql)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ('"a""b\'\'c"', "a\"b''c"),
        (r"'a\'b\\c\n\t\0'", "a'b\\c\n\t\0"),
        (r"'\%\_\q'", r"\%\_q"),
        (r"'\u0041\U0001F600\101'", "A\N{GRINNING FACE}A"),
        (r"'\uD83D\uDE00 \uD83D'", "\N{GRINNING FACE} \N{REPLACEMENT CHARACTER}"),
        (r"r'a\nb'", r"a\nb"),
        ("X'4f1'", b"\x04\xf1"),
    ],
)
def test_strings(text: str, value: str | bytes) -> None:
    assert string_value(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("3L", 3), ("1.50", "1.50"), ("2BD", "2"), ("1.5D", 1.5), ("2f", 2.0), ("1e3", 1000.0), (".5", "0.5")],
)
def test_numbers(text: str, value: object) -> None:
    found = number_value(text)
    assert (str(found) if isinstance(value, str) else found) == value
