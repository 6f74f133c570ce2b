"""Which partial aggregates of a table Spark can finish with the results that it has over the rows themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import ceil

from pyspark.sql import types as st

from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import INTEGERS, TIMESTAMPS, DataField, Root
from paimon_spark.spark.adapters.batches import spark_arrow_schema
from paimon_spark.spark.adapters.types import nullable, shown_schema, spark_schema
from paimon_spark.spark.native.decimal_terms import DecimalTerm, Largest, bounded
from paimon_spark.spark.native.partial_aggregates import PartialAggregates
from paimon_spark.sql.queries.aggregate_calls import COUNT, MAX, MIN, SUM
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.file_statistics import FileStatistics
from paimon_spark.store.scan.read_spec import Plan
from paimon_spark.store.scan.table_scan import Scan

RESULT = "__paimon_{}"
"""The name of the n-th function in the schema of partial aggregates."""
_ENDS = INTEGERS | TIMESTAMPS | {Root.DECIMAL, Root.DATE, Root.BOOLEAN}
_GROUPS = _ENDS | {Root.VARCHAR}
_COLUMNS: dict[str, frozenset[Root] | None] = {
    COUNT: None, SUM: INTEGERS | {Root.DECIMAL}, MIN: _ENDS, MAX: _ENDS,
}  # fmt: skip
"""The types of the columns of each function; None: any. Sums of floats depend on their order."""
_LARGEST = {Root.TINYINT: 2**7, Root.SMALLINT: 2**15, Root.INT: 2**31, Root.BIGINT: 2**63}
_EXACT_DOUBLE = 2**53
_MEAN_DIGITS = range(12, 29)
_MOST_ROWS = 10**10
_MORE_DIGITS = 4


@dataclass(frozen=True)
class AskedPartials:
    """Partial aggregates that tasks can make of rows.

    Attributes:
        made: what is made.
        columns: the columns that are read for it.
        schema: of the partial aggregates, as Spark has it.
        means: the columns of which a text makes the mean, of a sum and a count.
    """

    made: PartialAggregates
    columns: tuple[str, ...]
    schema: st.StructType
    means: tuple[DataField, ...] = ()

    def __hash__(self) -> int:
        return hash(self.made.functions)


def asked_partials(
    table: Table, groups: Sequence[DataField], functions: Sequence[tuple[str, DataField | DecimalTerm | None]]
) -> AskedPartials | None:
    """What tasks make of the rows of a table; None: Spark cannot finish it with its own results, or has nothing of it.

    Groups of floats are left to Spark (NaN, -0.0), those of CHAR (it pads them), and those of keys, which are many.

    Args:
        groups: columns whose values make groups.
        functions: names as of PartialAggregates, each with its column or term; None: of COUNT_ROWS.
    """
    if any(field.type.root not in _GROUPS for field in groups):
        return None
    if not all(_is_possible(function, of) for function, of in functions):
        return None
    keys = {field.name for field in bucket_fields(table.schema, table.settings)}
    if keys and keys <= {field.name for field in groups}:
        return None
    shown = nullable(shown_schema(spark_schema(list(groups)))).fields
    results = [
        st.StructField(RESULT.format(number), _result(function, of)) for number, (function, of) in enumerate(functions)
    ]
    schema = st.StructType([*shown, *results])
    names = tuple(field.name for field in groups)
    asked = tuple((function, of.name if isinstance(of, DataField) else of or "") for function, of in functions)
    read = (of.columns if isinstance(of, DecimalTerm) else (of,) for _, of in asked if of)
    columns = dict.fromkeys([*names, *(name for each in read for name in each)])
    return AskedPartials(PartialAggregates(names, asked, spark_arrow_schema(schema)), tuple(columns), schema)


def with_bounds(asked: AskedPartials, largest: Largest) -> AskedPartials | None:
    """The same of rows of which more is known; None: a term of them may need more digits than there are."""
    functions, known = list[tuple[str, str | DecimalTerm]](), cache(largest)  # which plans the files of a column
    for function, of in asked.made.functions:
        if isinstance(of, DecimalTerm):
            found = bounded(of, lambda field: None) or bounded(of, known)
            if found is None:
                return None
            functions.append((function, found))
        else:
            functions.append((function, of))
    return replace(asked, made=replace(asked.made, functions=tuple(functions)))


def _is_possible(function: str, of: DataField | DecimalTerm | None) -> bool:
    """True if Spark can finish the function."""
    if of is None:
        return True
    if isinstance(of, DecimalTerm):
        return function == SUM
    roots = _COLUMNS[function]
    return roots is None or of.type.root in roots


def _result(function: str, of: DataField | DecimalTerm | None) -> st.DataType:
    """The type of the partial results of a function."""
    if isinstance(of, DecimalTerm):
        return st.DecimalType(of.precision, of.scale)
    if of is None or function == COUNT or (function == SUM and of.type.root in INTEGERS):
        return st.LongType()
    return shown_schema(spark_schema([of])).fields[0].dataType


def is_exact_mean(scan: Scan, plan: Plan, field: DataField) -> bool:
    """True if the mean of a column is the same by its sum and its count, whatever Spark adds in which order.

    Spark adds integers as DOUBLE: each sum of some of them must be one exactly. It adds decimals as decimals, of 10
    digits more, but those of up to 11 digits as DOUBLE too, and divides these (Spark: Average, DecimalAggregates).

    Args:
        plan: of the scan.
    """
    rows = sum(split.row_count for split in plan.splits)
    if field.type.root is Root.DECIMAL:
        return (field.type.precision or 10) in _MEAN_DIGITS and rows < _MOST_ROWS
    if field.type.root not in INTEGERS:
        return False
    if rows * _LARGEST[field.type.root] <= _EXACT_DOUBLE:
        return True
    largest = largest_value(scan, plan.snapshot, field)
    return largest is not None and rows * largest <= _EXACT_DOUBLE


def mean_text(field: DataField, sums: str, counts: str) -> str:
    """An expression of SQL for the mean of a column, with the type of Spark's.

    Args:
        sums, counts: expressions for the sum and the number of its values, as integers or decimals.
    """
    if field.type.root is not Root.DECIMAL:
        return f"(CAST({sums} AS DOUBLE) / nullif({counts}, 0L))"
    precision, scale = field.type.precision or 10, field.type.scale or 0
    return f"CAST({sums} / nullif({counts}, 0L) AS DECIMAL({precision + _MORE_DIGITS}, {scale + _MORE_DIGITS}))"


def is_exact_quotient(plan: Plan, field: DataField) -> bool:
    """True if mean_text has Spark's mean: a quotient of decimals is rounded before it gets the type of a mean.

    The quotient must have so many digits that no two means lie nearer to each other, with both settings of
    spark.sql.decimalOperations.allowPrecisionLoss (Spark: Divide.resultDecimalType).
    """
    if field.type.root is not Root.DECIMAL:
        return True
    precision, scale = field.type.precision or 10, field.type.scale or 0
    whole, wanted = precision + 10 - scale, scale + 21
    kept = wanted if whole + wanted <= 38 else max(38 - whole, 6)
    digits = min(38, wanted)
    over = min(38, whole) + digits - 38
    strict = digits - (over // 2 + 1) if over > 0 else digits
    spare = min(kept, strict) - (scale + _MORE_DIGITS)
    return spare > 0 and sum(split.row_count for split in plan.splits) < 10**spare


def largest_value(scan: Scan, snapshot: Snapshot | None, field: DataField) -> int | None:
    """A number that no value of a column exceeds, without its sign, by the statistics of files; None: not known.

    Args:
        field: of integers or decimals; of these the number is without the point.
    """
    table = scan.table
    if table.settings.data_evolution_enabled or snapshot is None:
        return None
    if table.schema.primary_keys and not table.settings.merge_engine.keeps_whole_rows:
        return None  # a value may be that of no file
    statistics, largest = FileStatistics([field.name], table.schema, table.schemas.load), 0
    scale = field.type.scale or 0 if field.type.root is Root.DECIMAL else 0
    whole = replace(scan, spec=replace(scan.spec, with_statistics=True))
    for split in whole.plan_at(snapshot).splits:
        for file in split.files:
            known = statistics.of_values(file).get(field.name)
            if known is not None and known.null_count is not None and known.null_count == file.row_count:
                continue
            if known is None or known.minimum is None or known.maximum is None:
                return None
            largest = max(largest, *(ceil(abs(Fraction(end)) * 10**scale) for end in (known.minimum, known.maximum)))
    return largest
