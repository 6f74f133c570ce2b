"""The alias of a DataFrame, which Spark does not tell: found among the names that expressions use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from paimon_spark.errors import PaimonError
from paimon_spark.format.quoting import quoted
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.sql.queries.references import dotted_names
from paimon_spark.sql.text.lexer import tokenize

NONE = "_paimon_source"


def source_alias_of(source: DataFrame, target: str, expressions: Sequence[Expression | None]) -> str:
    """The alias by which expressions name the columns of a source; a name that nobody uses, if they use none.

    Args:
        source: such as ``df.alias("s")``.
        target: the alias of the other side.
    """
    for name in dict.fromkeys(_qualifiers(expressions)):
        if name.lower() != target.lower() and _is_alias(source, name):
            return name
    return NONE


def _qualifiers(expressions: Sequence[Expression | None]) -> Iterator[str]:
    for expression in expressions:
        if expression is None:
            continue
        text = expression if isinstance(expression, str) else str(expression)
        try:
            tokens = tokenize(text)
        except PaimonError:
            continue
        yield from (parts[0] for _, _, parts in dotted_names(tokens) if len(parts) > 1)


def _is_alias(source: DataFrame, name: str) -> bool:
    try:
        return source.select(f"{quoted(name)}.*").columns == source.columns
    except AnalysisException:
        return False
