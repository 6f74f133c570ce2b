"""What a condition in Spark's SQL tells about files and partitions, before a row is read."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.arrow.predicates.predicate import AlwaysTrue, Predicate, and_, columns_of
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.arrow.zones import TimeZone
from paimon_spark.errors import PaimonError
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField, Root
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.spark.rows.target import Target
from paimon_spark.sql.queries.conjuncts import where_parts
from paimon_spark.sql.queries.query import Conjunct, fold
from paimon_spark.sql.queries.read_query import read_query
from paimon_spark.sql.text.lexer import Token, tokenize
from paimon_spark.sql.text.names import Names
from paimon_spark.store.clean.partition_rows import partition_columns, partition_rows
from paimon_spark.store.metadata.table import Table

_WORD = re.compile(r"\w+")
_CATALOG = "paimon_row_changes"
_TRUE = AlwaysTrue()
_NUMBER = "_paimon_number"
_QUERIES = frozenset(("SELECT", "FROM", "TABLE", "VALUES"))
_NO_FUNCTIONS = frozenset(
    ("in", "exists", "and", "or", "not", "where", "on", "select", "from", "as", "any", "some", "all")
)
_VARYING = frozenset(
    """rand random randn randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length java_method reflect try_reflect""".split()  # noqa: SIM905
)


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
    condition: Expression | None, fields: Sequence[DataField], alias: str, time_zone: TimeZone | None
) -> Pruning:
    """What a condition tells. Parts that only Spark understands tell nothing.

    Args:
        condition: SQL, in which the alias or nothing stands before columns; a Column tells nothing; None: no condition.
        fields: the columns of the table.
        alias: of the table.
        time_zone: of the session.
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
                predicates.append(parse_predicate(conjunct.text, fields, time_zone))
            except PaimonError:
                continue
    if not found and count == 1:  # such as "true", which names no column
        try:
            return Pruning(parse_predicate(condition, fields, time_zone), True)
        except PaimonError:
            return Pruning()
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
    wholes = [part if isinstance(part, Conjunct) else part.whole for part in use.conjuncts]
    return [part for part in wholes if part is not None], len(where_parts(tokens, use.end))


def named_fields(fields: Sequence[DataField], expressions: Sequence[Expression | None]) -> list[DataField]:
    """The columns that expressions may name: those whose name is a word in one of them, or no word at all.

    A Column tells no words, so it may name all.
    """
    if any(not isinstance(item, str) for item in expressions if item is not None):
        return list(fields)
    words = {fold(word) for item in expressions if isinstance(item, str) for word in _WORD.findall(item)}
    return [f for f in fields if not _WORD.fullmatch(f.name) or fold(f.name) in words]


# ----------------------------------------------------------------------------------- conditions that only Spark decides


def decides_partitions(spark: SparkSession, table: Table, condition: Expression | None, alias: str) -> bool:
    """Whether a condition with a sub-query has one value for all rows of a partition.

    That is so if Spark understands it without the other columns, and nothing in it is drawn for each row.

    Args:
        condition: SQL; a Column tells nothing.
        alias: of the table in it.
    """
    fields = table.schema.partition_fields
    if not isinstance(condition, str) or not fields or any(field.type.root is Root.TIME for field in fields):
        return False
    tokens = tokenize(condition)
    if not _QUERIES.intersection(token.upper for token in tokens) or _may_vary(spark, tokens):
        return False
    others = {fold(field.name) for field in table.schema.fields} - {fold(field.name) for field in fields}
    words = {token.name for token in tokens if token.is_name}
    variables = any(fold(word) in others and _is_understood(spark, word) for word in words)
    no_rows = spark.createDataFrame([], nullable(shown_schema(spark_schema(fields)))).alias(alias)
    return not variables and _is_understood(no_rows, condition)


def _may_vary(spark: SparkSession, tokens: Sequence[Token]) -> bool:
    """Whether a function is called that may give each row another value: one of Spark, or any that users have made."""
    pairs = itertools.pairwise(tokens)
    called = {fold(first.name) for first, second in pairs if first.is_name and second.upper == "("} - _NO_FUNCTIONS
    if called & _VARYING:
        return True
    if not called:
        return False
    made = {str(row[0]).rsplit(".", 1)[-1].strip("`") for row in spark.sql("SHOW USER FUNCTIONS").collect()}
    return bool(called.intersection(map(fold, made)))


def _is_understood(rows: SparkSession | DataFrame, text: str) -> bool:
    """Whether Spark understands a condition on rows; with a session, a name that stands alone: a session variable."""
    try:
        found = rows.where(text) if isinstance(rows, DataFrame) else rows.sql(f"SELECT {quoted(text)}")
        return bool(found.columns)  # which Spark Connect asks the server for
    except AnalysisException:
        return False


def matching_partitions(target: Target, condition: str, alias: str) -> list[bytes]:
    """The partitions (arity-prefixed BinaryRows) for which a condition is true. Spark decides.

    Args:
        condition: for which ``decides_partitions`` is true.
    """
    table, fields = target.table, target.table.schema.partition_fields
    rows = partition_rows(table, target.snapshot)
    if not rows:
        return []
    names = [field.name for field in fields]
    known = pa.table([*partition_columns(table, rows), pa.array(range(len(rows)))], names=[*names, _NUMBER])
    types = target.shown(fields).fields
    columns = [sf.col(quoted(f.name)).cast(f.dataType).alias(f.name) for f in types]
    frame = target.spark.createDataFrame(known).select(*columns, _NUMBER).alias(alias)
    return [rows[row[0]] for row in frame.where(condition).select(_NUMBER).collect()]
