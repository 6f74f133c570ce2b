"""What a read wants of a table, whose columns are found by their names, and the plan that it gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paimon_spark.errors import OptionError, similar_names
from paimon_spark.format.options.column_names import parse_columns
from paimon_spark.format.schema import ROW_ID, ROW_KIND, ROW_KIND_FIELD, SEQUENCE_NUMBER, TableSchema
from paimon_spark.format.types import DataField

if TYPE_CHECKING:
    from paimon_spark.arrow.predicates.predicate import Predicate
    from paimon_spark.arrow.shredding.paths import PathColumn
    from paimon_spark.format.snapshot import Snapshot
    from paimon_spark.store.pruning.top_n import TopN
    from paimon_spark.store.read.splits import ReadUnit


@dataclass(frozen=True)
class ReadSpec:
    """What a read wants, made where the read is asked for.

    Plans get it without the parts of the condition on metadata columns. Readers get the fields and the predicate alone.

    Attributes:
        fields: the columns of the result, in order. ROW_KIND_FIELD among them keeps rows that retract.
        predicate: over the columns of the table and its metadata columns; rows for which it is not true are left out.
        first: only these rows are wanted, and rows that surely are none of them may be left out. None: all rows.
        with_statistics: whether the files of the plan have their statistics, where the condition needs none.
        created_since: only files made at or after this instant are read, in epoch milliseconds. None: all files.
        all_levels: whether files are read too that are invisible until they are compacted.
        least_level: files of levels below it are not read.
        unmerged_postponed: whether postponed rows are read, as they were written.
        parts: columns of the result and of the predicate that are parts of VARIANT values.
    """

    fields: tuple[DataField, ...]
    predicate: Predicate
    first: TopN | None = None
    with_statistics: bool = False
    created_since: int | None = None
    all_levels: bool = False
    least_level: int = 0
    unmerged_postponed: bool = False
    parts: tuple[PathColumn, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The plan of a read.

    Attributes:
        snapshot: the state; None: the table has no snapshot, or an increment is empty.
        splits: hold every row that is wanted, and few others.
        skipped_by_index: how many files their indexes left out, which statistics had not.
        skipped_by_order: how many files have none of the rows that come first.
        after_buckets: how many files partitions and buckets leave.
        hashed_buckets: in so many buckets every row of the files lies by the hash of its bucket key, as the schema of
            the read has it; None: the files differ in this, or the buckets have no such hash.
    """

    snapshot: Snapshot | None
    splits: tuple[ReadUnit, ...]
    skipped_by_index: int = 0
    skipped_by_order: int = 0
    after_buckets: int = 0
    hashed_buckets: int | None = None


def row_kind_field(schema: TableSchema) -> DataField:
    """The column with the row kind of each row.

    Raises:
        OptionError: the table has a column of that name.
    """
    if ROW_KIND in schema.by_name:
        raise OptionError(
            f"row kinds were asked for in a column '{ROW_KIND}', but the table has a column of that name; rename that "
            f"to read row kinds"
        )
    return ROW_KIND_FIELD


def _hint(name: str, schema: TableSchema) -> str:
    """What to do about a name that no column has; it begins as a further part of a sentence."""
    if name.endswith("*"):
        return ": to read all columns leave the list out"
    column, colon, _ = name.partition(":")
    if colon and column in schema.by_name and "::" not in name:
        return f": a part of a value of VARIANT needs its type, such as {name.split()[0]}::STRING"
    if re.search(r"\sas\s", name, re.IGNORECASE):
        return ": a column is read by its own name; give it another one in the select of the DataFrame"
    if name.upper() in (ROW_ID, SEQUENCE_NUMBER):
        return ": the table keeps none, because 'row-tracking.enabled' was not set when it was made"
    near = similar_names(name, schema.names)
    return f", did you mean '{near[0]}'?" if near else ""


def find_fields(
    schema: TableSchema, columns: str | Sequence[str], hidden: Sequence[DataField] = ()
) -> tuple[DataField, ...]:
    """The fields of the columns, by exact name, else in any letter case; every table has the column ``_row_kind``.

    Args:
        columns: names, or one text of names with commas between them.
        hidden: further columns that may be named.

    Raises:
        OptionError: a column does not exist, is named twice, or matches several columns in other letter cases.
    """
    by_lower: dict[str, list[DataField]] = {}
    for field in (*schema.fields, *(() if ROW_KIND in schema.by_name else (ROW_KIND_FIELD,)), *hidden):
        by_lower.setdefault(field.name.lower(), []).append(field)
    fields: list[DataField] = []
    for name in parse_columns(columns) if isinstance(columns, str) else columns:
        exact = schema.by_name.get(name)
        found = [exact] if exact is not None else by_lower.get(name.lower(), [])
        if len(found) > 1:
            raise OptionError(f"the column '{name}' fits {', '.join(f.name for f in found)}: write its exact name")
        if not found:
            raise OptionError(f"no column '{name}'{_hint(name, schema)}; the columns are {', '.join(schema.names)}")
        if found[0] in fields:
            raise OptionError(f"the column '{found[0].name}' is named twice among the columns to read")
        fields.append(found[0])
    return tuple(fields)
