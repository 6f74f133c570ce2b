"""Queries that need aggregates of a table, and no rows.

Metadata tell numbers of rows and ends of columns, for all rows or by partition columns. Of other rows tasks make
partial aggregates, which the text of the query finishes: it sums sums and counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.readable_columns import Readable
from paimon_spark.spark.native.aggregate_rows import aggregate_rows
from paimon_spark.spark.native.asked_partials import RESULT, AskedPartials, asked_partials, mean_text
from paimon_spark.spark.native.decimal_terms import DecimalTerm, Tree, decimal_term
from paimon_spark.spark.native.table_reading import ReadExplanation, TableFrame
from paimon_spark.sql.queries.aggregate_calls import (
    AVG,
    COUNT,
    COUNT_ROWS,
    SUM,
    AggregateCall,
    Constant,
    Term,
    has_constant,
)
from paimon_spark.sql.queries.query import Totals, Use, fold
from paimon_spark.sql.queries.totals import ROWS
from paimon_spark.store.open import ReadableTable

if TYPE_CHECKING:
    from paimon_spark.spark.queries.session import SqlSession

_MEAN = (SUM, COUNT)
_LEAST_DIGITS = "spark.sql.legacy.literal.pickMinimumPrecision"
_RESERVED = RESULT.format("")


@dataclass(frozen=True)
class Answer:
    """What metadata tell of a use of a table.

    Attributes:
        frame: rows that stand for those of the table; None: the query needs the rows themselves.
        reasons: why, where it need not.
    """

    frame: TableFrame | None = None
    reasons: tuple[str, ...] = ()


def metadata_answer(session: SqlSession, use: Use, table: object, where: str | None) -> Answer:
    """The rows that a query needs, where metadata tell them exactly.

    Args:
        session: the session; of one that reads names otherwise than we do nothing is known.
        use: of the table in the query.
        table: as it is opened; of a system table nothing is known.
        where: a condition that all rows fulfil which the query needs.

    Raises:
        SnapshotNotFound: the state does not exist, or it expires concurrently.
        CorruptFile: metadata are missing or damaged.
    """
    if use.totals is None or use.totals.edits is None or not isinstance(table, ReadableTable):
        return Answer()
    if session.dialect() is Dialect.OTHER:
        return Answer()
    columns = _columns(use.totals, table)
    if isinstance(columns, str):
        return Answer(reasons=(columns,))
    scan = table.scan(where=where)
    known = scan.metadata_aggregates([column.name for column in columns])
    if known.rest:
        return Answer(reasons=known.why)
    frame = aggregate_rows(session.spark, table.schema, known, columns, ROWS)
    if frame is None:
        return Answer(reasons=("there are too many partitions",))
    explanation = ReadExplanation(
        location=table.location,
        snapshot=known.snapshot,
        native_files=0,
        merged_splits=0,
        merged_files=0,
        columns=tuple(column.name for column in columns),
        where=where,
        local_rows=True,
        reasons=(),
        from_metadata=known.files,
    )
    return Answer(TableFrame(frame, explanation))


def exchanged(use: Use) -> Use:
    """The use with the text that sums numbers of rows."""
    return use if use.totals is None else replace(use, edits=use.totals.edits or ())


def _columns(totals: Totals, table: ReadableTable) -> Sequence[DataField] | str:
    """The columns that the query needs; or why it needs rows, in words."""
    by_name = _by_name(table)
    if by_name is None:
        return "columns differ in letter case alone"
    if ROWS in by_name:
        return f"the table has a column {ROWS}"
    named = totals.plain | totals.filtered
    unknown = totals.ends - set(by_name) | named - set(by_name) - totals.aliases
    if unknown:
        return f"the table has no column {', '.join(sorted(unknown))}"
    plain = [by_name[name] for name in named if name in by_name]
    others = sorted(field.name for field in plain if field.name not in table.schema.partition_keys)
    if others:
        return f"{', '.join(others)} is no partition column" if len(others) == 1 else f"{', '.join(others)} are none"
    wanted = {field.name for field in plain} | {by_name[name].name for name in totals.ends}
    return [field for field in table.schema.fields if field.name in wanted]


def _by_name(table: ReadableTable) -> dict[str, DataField] | None:
    """The columns by their folded names; None: two have one name."""
    found = {fold(field.name): field for field in table.schema.fields}
    return found if len(found) == len(table.schema.fields) else None


def partials_of(session: SqlSession, totals: Totals, table: Readable) -> AskedPartials | None:
    """What tasks can make of the rows of a table, so that a query finishes it with its own result; None: they cannot.

    A query that names the columns of other expressions groups by them at most, so partial aggregates are of each of
    their values.

    Args:
        totals: what the query needs, of rows that all satisfy its WHERE.
    """
    by_name = _by_name(table) if isinstance(table, ReadableTable) else None
    if not totals.calls or by_name is None or not isinstance(table, ReadableTable):
        return None
    if any(name.startswith(_RESERVED) or "{" in name or "}" in name for name in by_name):
        return None
    if frozenset[str]().union(*(call.columns for call in totals.calls)) - set(by_name):
        return None
    if totals.plain - set(by_name) - totals.aliases:
        return None
    if any(has_constant(call.of) for call in totals.calls) and session.spark.conf.get(_LEAST_DIGITS, "true") != "true":
        return None  # a whole number has more digits then
    groups = [field for name, field in by_name.items() if name in totals.plain]
    if not groups and all(call.function == COUNT_ROWS for call in totals.calls):
        return None  # rows are counted without columns, from their keys alone, in less time
    functions: list[tuple[str, DataField | DecimalTerm | None]] = []
    for function, of in _functions(totals.calls):
        made = by_name.get(of) if isinstance(of, str) else decimal_term(_tree(of, by_name))
        if made is None and of:
            return None
        functions.append((function, made))
    asked = asked_partials(table, groups, functions)
    means = tuple(by_name[str(call.of)] for call in totals.calls if call.function == AVG)
    return asked if asked is None else replace(asked, means=means)


def _functions(calls: Sequence[AggregateCall]) -> list[tuple[str, Term]]:
    """What tasks make for the aggregates, in its order, each once."""
    found = ((f, call.of) for call in calls for f in (_MEAN if call.function == AVG else (call.function,)))
    return list(dict.fromkeys(found))


def _tree(term: Term, by_name: Mapping[str, DataField]) -> Tree:
    match term:
        case str(name):
            return by_name[name]
        case Constant():
            return term
    return term[0], _tree(term[1], by_name), _tree(term[2], by_name)


def finished(use: Use, asked: AskedPartials) -> Use:
    """The use with a text that makes the results of partial aggregates, of rows that satisfy its WHERE."""
    totals = use.totals
    assert totals is not None
    assert totals.calls is not None
    places = {made: number for number, made in enumerate(_functions(totals.calls))}
    means = {fold(field.name): field for field in asked.means}
    edits = [] if totals.where is None else [(*totals.where, "true")]
    for call in totals.calls:

        def summed(function: str, of: Term = call.of) -> str:
            return f"sum(`{RESULT.format(places[function, of])}`)"

        if call.function == AVG:
            text = mean_text(means[str(call.of)], summed(SUM), summed(COUNT))
        elif call.function in (COUNT_ROWS, COUNT):
            text = f"coalesce({summed(call.function)}, 0L)"
        elif call.function == SUM:
            text = summed(SUM)
        else:
            text = f"{call.function}(`{RESULT.format(places[call.function, call.of])}`)"
        edits.append((call.start, call.end, text + (f" AS {quoted(call.name)}" if call.name else "")))
    kept = (cut for cut in use.qualifiers if not any(start <= cut[0] < end for start, end, _ in edits))
    return replace(use, edits=tuple(edits), qualifiers=tuple(kept))
