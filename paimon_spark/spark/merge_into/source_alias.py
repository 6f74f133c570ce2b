"""The alias of a DataFrame, which Spark does not tell: found among the names that expressions use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.spark.rows.nondeterminism import QUERIES
from paimon_spark.sql.queries.references import dotted_names
from paimon_spark.sql.text.lexer import tokenize

NONE = "source"
"""The name of a source that has none, if no column is called so: users see it in messages of Spark."""
HIDDEN = "_paimon_source"
_BEFORE_POINT = re.compile(r"(?:`((?:[^`]|``)+)`|(\w+))\.")


def source_alias_of(source: DataFrame, target: str, expressions: Sequence[Expression | None], what: str) -> str:
    """The alias by which expressions name the columns of a source; NONE, if they use none.

    Args:
        source: such as ``df.alias("s")``.
        target: the alias of the other side.
        what: the statement, for messages.

    Raises:
        SqlError: expressions use the alias of the other side, and the source has the same one.
    """
    for name in dict.fromkeys(_qualifiers(expressions)):
        if _is_alias(source, name):
            if name.lower() != target.lower():
                return name
            raise SqlError(
                f"{what}: the table and the source are both called {name}, so {name}.<column> would always mean the "
                'table; give the source another name with source.alias("s")'
            )
    return HIDDEN if target.lower() == NONE or NONE in map(str.lower, source.columns) else NONE


def check_qualifiers(condition: Expression, sides: Sequence[str], columns: Sequence[str], what: str) -> None:
    """Refuses a condition that names a side by a name that it does not have.

    Sub-queries and lambdas have further names, so that a condition with one is left to Spark.

    Args:
        sides: the aliases of the target and of the source.
        columns: of both: a field of a struct has the column before it.

    Raises:
        SqlError: what stands before a column is no alias and no column.
    """
    if not isinstance(condition, str):
        return
    try:
        tokens = tokenize(condition)
    except PaimonError:
        return
    if QUERIES & {token.upper for token in tokens} or "->" in condition:
        return
    known = {name.lower() for name in (*sides, *columns)}
    for _, last, parts in dotted_names(tokens):
        is_call = last + 1 < len(tokens) and tokens[last + 1].upper == "("
        if len(parts) == 2 and not is_call and parts[0].lower() not in known:
            raise SqlError(
                f"{what}: {parts[0]} in the condition is the name of neither side: the table is called {sides[0]}, and "
                f'the source does not have this name; give it one with source.alias("{parts[0]}")'
            )


def _qualifiers(expressions: Sequence[Expression | None]) -> Iterator[str]:
    """Names before a point: of a Column those that its text shows, where words of a literal may be among them."""
    for expression in expressions:
        if isinstance(expression, str):
            try:
                tokens = tokenize(expression)
            except PaimonError:
                continue
            yield from (parts[0] for _, _, parts in dotted_names(tokens) if len(parts) > 1)
        elif expression is not None:
            yield from (plain or fenced.replace("``", "`") for fenced, plain in _BEFORE_POINT.findall(str(expression)))


def _is_alias(source: DataFrame, name: str) -> bool:
    """True if all columns have the name before them. A struct of that name has other fields than itself."""
    try:
        return source.select(f"{quoted(name)}.*").schema == source.schema
    except AnalysisException:
        return False
