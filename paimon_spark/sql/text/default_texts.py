"""Default values of columns in SQL: the text that a table stores for DEFAULT, and the expression that it stands for."""

from __future__ import annotations

from paimon_spark.errors import SqlError
from paimon_spark.format.types import STRINGS, UNORDERED, DataField, DataType
from paimon_spark.sql.text.lexer import Kind, Token, tokenize
from paimon_spark.sql.text.literals import string_value

_NULL = "NULL"


def default_expression(column: DataField) -> str:
    """The default value of a column as expression; NULL, which a write replaces by it, where its text is none."""
    text = column.default_value
    return text if text is not None and column.type.root not in UNORDERED and _literal(text) else _NULL


def stored_default(column: str, text: str, data_type: DataType) -> str | None:
    """The text that a table stores for DEFAULT; None: DEFAULT NULL, which is no default.

    Java stores the text of any expression, and takes it for the value of a text column: ``upper('x')`` would be the
    text upper('x') in each row. That is refused here.

    Raises:
        SqlError: the default of a text column is an expression.
    """
    if text.upper() == _NULL:
        return None
    if data_type.root not in STRINGS:
        return text
    found = _literal(text)
    if found is None:
        raise SqlError(
            f"the default value {text} of column {column} is an expression, and Paimon stores the text of a literal; "
            "write a literal, in quotes if this text itself is meant"
        )
    if found.kind is Kind.STRING and not text.startswith("'"):  # Java knows single quotes only
        value = string_value(text)
        if isinstance(value, bytes) or "'" in value or "\\" in value:
            raise SqlError(f"the default value {text} of column {column}: write the text in single quotes")
        return f"'{value}'"
    return text


def _literal(text: str) -> Token | None:
    """The token of a text that is one literal: a string, a number, TRUE or FALSE; None: it is none."""
    try:
        tokens = tokenize(text)
    except SqlError:
        return None
    if len(tokens) == 2 and tokens[0].upper in ("-", "+") and tokens[1].kind is Kind.NUMBER:
        return tokens[1]
    if len(tokens) != 1 or not (tokens[0].kind in (Kind.STRING, Kind.NUMBER) or tokens[0].upper in ("TRUE", "FALSE")):
        return None
    return tokens[0]
