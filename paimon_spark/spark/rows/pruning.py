"""What a condition in Spark's SQL tells about files and partitions, before a row is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, and_, columns_of
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import PaimonError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import TableSchema, metadata_fields
from paimon_spark.format.types import DataField
from paimon_spark.row_changes.read_table import named_fields
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.sql.queries.conjuncts import reaches_end, where_parts
from paimon_spark.sql.queries.query import Conjunct, fold
from paimon_spark.sql.queries.read_query import read_query
from paimon_spark.sql.text.lexer import tokenize
from paimon_spark.sql.text.names import Names

_CATALOG = "paimon_row_changes"
_TRUE = AlwaysTrue()


@dataclass(frozen=True)
class Pruning:
    """What is known of a condition.

    Attributes:
        predicate: rows that do not satisfy it do not satisfy the condition either.
        is_whole: whether it is the condition itself.
    """

    predicate: Predicate = _TRUE
    is_whole: bool = False

    def is_of(self, columns: Sequence[str]) -> bool:
        """True if the condition depends on these columns alone."""
        return self.is_whole and columns_of(self.predicate) <= set(columns)


def pruning_of(
    condition: Expression | None,
    fields: Sequence[DataField],
    alias: str,
    time_zone: TimeZone | None,
    dialect: Dialect = Dialect.ANSI,
) -> Pruning:
    """What a condition tells. Parts that only Spark understands tell nothing.

    Args:
        condition: SQL, in which the alias or nothing stands before columns; a Column tells nothing; None: no condition.
        fields: the columns of the table.
        alias: of the table.
        time_zone: of the session.
        dialect: by which rules the session reads the condition.
    """
    if condition is None:
        return Pruning(_TRUE, True)
    if not isinstance(condition, str):
        return Pruning()
    found, count = _conjuncts(condition, alias)
    known = {fold(field.name) for field in fields}
    predicates = []
    for conjunct in found:
        if all(fold(column) in known for column in conjunct.columns):
            try:
                predicates.append(parse_predicate(conjunct.text, fields, time_zone, dialect))
            except PaimonError:
                continue
    if not found and count == 1:  # such as "true", which names no column
        try:
            predicate = parse_predicate(condition, fields, time_zone, dialect)
        except PaimonError:
            return Pruning()
        return Pruning() if columns_of(predicate) else Pruning(predicate, True)
    return Pruning(and_(*predicates) if predicates else _TRUE, bool(predicates) and len(predicates) == count)


def _conjuncts(condition: str, alias: str) -> tuple[Sequence[Conjunct], int]:
    """The parts of a condition that speak of the table alone, and how many parts there are."""
    text = f"SELECT 1 FROM {_CATALOG}.d.t AS {quoted(alias)} WHERE {condition}\n"
    try:
        tokens = tokenize(text)
        query = read_query(text, tokens, Names(_CATALOG, None))
    except PaimonError:
        return (), 0
    use = query.uses[0]
    if not reaches_end(tokens, use.end):
        return (), 0
    wholes = [part if isinstance(part, Conjunct) else part.whole for part in use.conjuncts]
    return [part for part in wholes if part is not None], len(where_parts(tokens, use.end))


def named_metadata_fields(schema: TableSchema, expressions: Sequence[Expression | None]) -> list[DataField]:
    """The metadata columns of a table that expressions name; of a Column counts what it prints."""
    return named_fields(metadata_fields(schema), [None if item is None else str(item) for item in expressions])
