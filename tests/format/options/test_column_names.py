"""Column names as one text."""

from __future__ import annotations

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.format.options.column_names import format_columns, parse_columns


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("id", ("id",)),
        (" id ,total,", ("id", "total")),
        ("`a,b`, ` c `,`d``e`,é f", ("a,b", " c ", "d`e", "é f")),
    ],
)
def test_column_lists(text: str, names: tuple[str, ...]) -> None:
    assert parse_columns(text) == names
    assert parse_columns(format_columns(names)) == names


@pytest.mark.parametrize("text", ["", " ", ",", "a,,b", "`a", "a`b", "``"])
def test_bad_column_lists(text: str) -> None:
    with pytest.raises(OptionError, match="expected column names"):
        parse_columns(text)


@pytest.mark.parametrize("text", [str(["id", "total"]), str(("id",)), '["id", "total"]'])
def test_the_text_of_a_list_is_none_of_names(text: str) -> None:
    with pytest.raises(OptionError, match=r"is the text of a list: join the names with commas"):
        parse_columns(text)


def test_a_name_may_begin_with_a_bracket() -> None:
    assert parse_columns("[a], (b)") == ("[a]", "(b)")
