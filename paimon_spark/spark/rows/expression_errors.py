"""Errors of Spark about the expressions of a DELETE, an UPDATE or a MERGE, in the names that the user knows.

Spark reads expressions over rows that have columns of ours too, and not all columns of the table: its suggestions and
its plans show them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.errors import not_logged, without_plan
from paimon_spark.spark.adapters.store_assignment import Given, job_error
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema, spark_type
from paimon_spark.spark.rows.assignments import Assignment, Expression, as_column, inner_type
from paimon_spark.spark.rows.expressions import QUERIES
from paimon_spark.sql.queries.references import dotted_names
from paimon_spark.sql.text.lexer import tokenize

_OF_ANOTHER_FRAME = ("MISSING_ATTRIBUTES", "CANNOT_RESOLVE_DATAFRAME_COLUMN")
_UNKNOWN = "UNRESOLVED_COLUMN"
_AMBIGUOUS = "AMBIGUOUS_REFERENCE"
_CONNECTIVES = frozenset({"AND", "OR", "NOT", "IS"})
_NO_FIELD = "FIELD_NOT_FOUND"
_NO_SYNTAX = "PARSE_SYNTAX_ERROR"
_WORDS = re.compile(r"\w+(?:\s+\w+)+")


@dataclass(frozen=True)
class Reading:
    """Expressions and what they may name.

    Attributes:
        frame: has all columns that they may name under their aliases, and no others.
        condition: None: there is none.
        given: assignments.
    """

    frame: DataFrame
    condition: Expression | None = None
    given: Sequence[Assignment] = ()


def empty_rows(spark: SparkSession, fields: Sequence[DataField], alias: str) -> DataFrame:
    """A DataFrame with the columns of a table, under an alias."""
    return spark.createDataFrame([], nullable(shown_schema(spark_schema(fields)))).alias(alias)


@contextmanager
def expression_errors(
    what: str,
    readings: Callable[[], Sequence[Reading]],
    values: Collection[Expression] = (),
    sides: Callable[[], Mapping[str, Sequence[str]]] = dict,
) -> Iterator[None]:
    """Tells what users of DataFrames take for an expression, where Spark answers with a plan of ours.

    Args:
        what: is done, for messages.
        readings: all expressions, once more; called after an error.
        values: that are assigned.
        sides: the aliases of tables that stand side by side, each with the columns of its table.

    Raises:
        SqlError: a Column is one of another DataFrame, a value is a word that is no column, a side has no such column,
            or a sub-query that is a value has several rows.
        DataError: Spark cannot cast a value to the type of its column.
        AnalysisException: all else that Spark does not understand.
    """
    try:
        with not_logged():  # with names and plans of ours; what is raised below says what the user can do
            yield
    except AnalysisException as error:
        condition, name = error.getCondition() or "", _unknown(error)
        if condition.startswith(_OF_ANOTHER_FRAME):
            raise SqlError(
                f"{what}: an expression has a Column of another DataFrame, as df['id'] or df.id gives it, and the rows "
                'are read anew here; name the column: F.col("id"), or in SQL "id = 2", with the alias of its side '
                "before it where two have it"
            ) from None
        if condition == _NO_FIELD:
            _refuse_side(what, error.getMessageParameters() or {}, sides())
        word = (name or "").strip("`")
        if condition == _NO_SYNTAX:
            word = next((v for v in values if isinstance(v, str) and _WORDS.fullmatch(v.strip())), "")
        if word and (condition == _NO_SYNTAX or word in _first_words(values)):
            raise SqlError(
                f"{what}: {word} is no column, and the text of a value is SQL; a value that is a text needs quotes, "
                f'"\'{word}\'", or F.lit("{word}")'
            ) from None
        if condition == _AMBIGUOUS:
            raise without_plan(_unknown_beside(readings()) or error) from None
        raise without_plan(error if name is None else _read_again(error, name, readings())) from None
    except PaimonError:
        raise
    except Exception as error:  # classic Spark raises what Py4J makes of Java's, Connect its own: no common base
        given = lambda: [each for reading in readings() for each in _given(reading)]  # noqa: E731
        raise (job_error(error, what, given) or error) from None


def _refuse_side(what: str, parameters: Mapping[str, str], sides: Mapping[str, Sequence[str]]) -> None:
    """Names the side that has no such column where Spark has looked into a struct that is called as the side is.

    Raises:
        SqlError: there is one such side.
    """
    field = parameters.get("fieldName", "").strip("`")
    structs = {name.lower() for columns in sides.values() for name in columns}
    found = [name for name, columns in sides.items() if name.lower() in structs and field not in columns]
    if len(found) == 1:
        raise SqlError(
            f"{what}: {field} is neither a column of {found[0]}, which has {', '.join(sides[found[0]])}, nor a field "
            f"of the column {found[0]}, which has {parameters.get('fields', '').replace('`', '')}; correct the name"
        ) from None


def _unknown(error: AnalysisException) -> str | None:
    """The name of the column that Spark does not find; None: the error is another one."""
    if not (error.getCondition() or "").startswith(_UNKNOWN):
        return None
    return (error.getMessageParameters() or {}).get("objectName", "")


def _unknown_beside(readings: Sequence[Reading]) -> AnalysisException | None:
    """What Spark says of a name in a condition that no side has, though it stops before at one that two sides have.

    None: there is no such name. A condition with a sub-query or a lambda has names of its own, and is left alone.
    """
    for reading in readings:
        text = reading.condition if isinstance(reading.condition, str) else ""
        tokens = tokenize(text)
        if any(token.upper in QUERIES or token.text == "->" for token in tokens):
            continue
        for first, last, _ in dotted_names(tokens):
            before, after = tokens[max(first - 1, 0) : first], tokens[last + 1 : last + 2]
            words = {token.upper for token in (*before, *after)} - _CONNECTIVES
            if any(word == "" or word.isidentifier() for word in words) or any(token.upper == "(" for token in after):
                continue  # a function, a literal with a type, a word of the language
            try:
                with not_logged():
                    reading.frame.select(sf.expr(text[tokens[first].start : tokens[last].end])).schema  # noqa: B018
            except AnalysisException as error:
                if _unknown(error) is not None:
                    return error
    return None


def _read_again(error: AnalysisException, name: str, readings: Sequence[Reading]) -> AnalysisException:
    """What Spark says of the unknown name where only columns of the user can be suggested."""
    for reading in readings:
        values = [item.value for item in reading.given]
        for column in values if reading.condition is None else [as_column(reading.condition), *values]:
            try:
                with not_logged():
                    reading.frame.select(column).schema  # noqa: B018  # Connect reads the expression here, not before
            except AnalysisException as again:
                if _unknown(again) == name:
                    return again
    return error


def _given(reading: Reading) -> Iterator[Given]:
    for item in reading.given:
        have = reading.frame.select(item.value.alias("v")).schema.fields[0].dataType
        yield Given(".".join((item.field.name, *item.inner)), have, spark_type(inner_type(item)))


def _first_words(values: Collection[Expression]) -> set[str]:
    return {value.split()[0] for value in values if isinstance(value, str) and value.strip()}
