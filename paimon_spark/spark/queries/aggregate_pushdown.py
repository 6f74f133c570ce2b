"""Queries whose result metadata tell: numbers of rows, and ends of columns, for all rows or by partition columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paimon_spark.arrow.predicates.dialect import Dialect
from paimon_spark.format.types import DataField
from paimon_spark.spark.native.aggregate_rows import aggregate_rows
from paimon_spark.spark.native.table_reading import ReadExplanation, TableFrame
from paimon_spark.sql.queries.query import Totals, Use, fold
from paimon_spark.sql.queries.totals import ROWS
from paimon_spark.store.open import ReadableTable

if TYPE_CHECKING:
    from paimon_spark.spark.queries.session import SqlSession


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
    if use.totals is None or not isinstance(table, ReadableTable) or session.dialect() is Dialect.OTHER:
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
    return use if use.totals is None else replace(use, edits=use.totals.edits)


def _columns(totals: Totals, table: ReadableTable) -> Sequence[DataField] | str:
    """The columns that the query needs; or why it needs rows, in words."""
    by_name: dict[str, DataField] = {}
    for field in table.schema.fields:
        if by_name.setdefault(fold(field.name), field) is not field:
            return "columns differ in letter case alone"
    if ROWS in by_name:
        return f"the table has a column {ROWS}"
    unknown = totals.ends - set(by_name) | totals.plain - set(by_name) - totals.aliases
    if unknown:
        return f"the table has no column {', '.join(sorted(unknown))}"
    plain = [by_name[name] for name in totals.plain if name in by_name]
    others = sorted(field.name for field in plain if field.name not in table.schema.partition_keys)
    if others:
        return f"{', '.join(others)} is no partition column" if len(others) == 1 else f"{', '.join(others)} are none"
    wanted = {field.name for field in plain} | {by_name[name].name for name in totals.ends}
    return [field for field in table.schema.fields if field.name in wanted]
