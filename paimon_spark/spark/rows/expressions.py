"""What expressions of DELETE, UPDATE and MERGE may say, and whether their values stay the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

from pyspark.sql import SparkSession

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.sql.queries.query import fold
from paimon_spark.sql.text.lexer import Token, tokenize

_QUERY = frozenset({"SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"})
QUERIES = frozenset(("SELECT", "FROM", "TABLE", "VALUES"))
_NO_FUNCTIONS = frozenset(
    ("in", "exists", "and", "or", "not", "where", "on", "select", "from", "as", "any", "some", "all")
)
_DRAWN = frozenset(
    """rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length java_method reflect try_reflect""".split()  # noqa: SIM905
)
_OF_NOW = frozenset(
    """now current_timestamp localtimestamp current_date curdate current_time unix_timestamp""".split()  # noqa: SIM905
)
_CALL_OF_COLUMN = re.compile(r"[A-Za-z_>]\w*\s*\(")


def check_no_star(what: str, expressions: Iterable[Expression | None]) -> None:
    """Checks that no expression has a star that stands for columns, but in a sub-query.

    Args:
        what: the statement, for messages.
        expressions: SQL; a Column and None are passed over.

    Raises:
        SqlError: an expression has one.
    """
    for expression in expressions:
        if isinstance(expression, str) and _has_star(tokenize(expression)):
            raise SqlError(
                f"{what}: the * in {expression!r} stands for all columns, which is not possible here; name the columns"
            )


def _has_star(tokens: Sequence[Token]) -> bool:
    inside: list[bool] = []  # of each open parenthesis, whether it is, or is in, a sub-query
    before = "("
    for number, token in enumerate(tokens):
        if token.upper == "(":
            following = tokens[number + 1].upper if number + 1 < len(tokens) else ""
            inside.append(following in _QUERY or (bool(inside) and inside[-1]))
        elif token.upper == ")" and inside:
            inside.pop()
        elif token.upper == "*" and before in ("(", ",", ".") and not (inside and inside[-1]):
            return True
        before = token.upper
    return False


def draws_for_rows(spark: SparkSession, tokens: Sequence[Token]) -> bool:
    """True if a function is called that may give each row another value: one of Spark, or any that users have made."""
    pairs = itertools.pairwise(tokens)
    called = {fold(first.name) for first, second in pairs if first.is_name and second.upper == "("} - _NO_FUNCTIONS
    if called & _DRAWN:
        return True
    if not called:
        return False
    made = {str(row[0]).rsplit(".", 1)[-1].strip("`") for row in spark.sql("SHOW USER FUNCTIONS").collect()}
    return bool(called.intersection(map(fold, made)))


def may_vary(spark: SparkSession, condition: Expression | None) -> bool:
    """True if two computations of a condition may differ: it draws at random, asks for the time, or reads tables.

    Args:
        condition: SQL; of a Column only the names that it shows are known, so any function of it may vary.
    """
    if condition is None:
        return False
    if not isinstance(condition, str):
        return any(not call.startswith(">") for call in _CALL_OF_COLUMN.findall(str(condition)))
    try:
        tokens = tokenize(condition)
    except PaimonError:
        return True
    words = {token.upper for token in tokens}
    if QUERIES & words or {fold(token.name) for token in tokens if token.is_name} & _OF_NOW:
        return True
    return draws_for_rows(spark, tokens)


def move_rows(spark: SparkSession, expressions: Iterable[Expression | None]) -> bool:
    """True if Spark may bring rows to other tasks to compute expressions, as it does for the joins of sub-queries.

    Args:
        expressions: SQL, with sub-queries or functions of users, which may have some; of a Column nothing is known.
    """
    for expression in expressions:
        if expression is None:
            continue
        if not isinstance(expression, str):
            return True
        tokens = tokenize(expression)
        if QUERIES.intersection(token.upper for token in tokens) or draws_for_rows(spark, tokens):
            return True
    return False
