"""What the condition of a MERGE tells: columns of the target that equal columns of the source in matched rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import types as st

from paimon_spark.arrow.predicates.predicate import Predicate, and_
from paimon_spark.errors import PaimonError
from paimon_spark.row_changes.source_values import SourceValues, has_order
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.spark.rows.assignments import Expression
from paimon_spark.sql.queries.conjuncts import equalities
from paimon_spark.sql.text.cursor import column_path
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.rows.change_strategies import place_columns

_INTEGRAL = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)


@dataclass(frozen=True)
class SameColumns:
    """Columns that are compared with ``=``.

    Attributes:
        pairs: column of the target -> column of the source.
        is_all: whether the condition compares nothing else.
        source_alias: of the source.
        source_names: its columns.
        fixed: columns of the target whose assignment is empty if the value is the one that they are compared with:
            those that decide where a row lies.
    """

    pairs: Mapping[str, str]
    is_all: bool
    source_alias: str
    source_names: Sequence[str]
    fixed: frozenset[str]

    def key_columns(self, table: Table) -> dict[str, str] | None:
        """The columns of the key, and those of the source that they are compared with; None: some of it is not.

        Where a key is unique only in its partition, with those that the partition is compared with.
        """
        keys = table.schema.primary_keys
        compared = {name: self.pairs[name] for name in table.unique_names if name in self.pairs}
        return compared if keys and compared.keys() >= set(keys) else None

    def is_same(self, column: str, value: Expression) -> bool:
        """True if a matched row has the value in the column already."""
        if column not in self.fixed or not isinstance(value, str):
            return False
        try:
            path = column_path(value)
        except PaimonError:
            return False
        return path[-2:] == (self.source_alias, self.pairs.get(column, ""))


def same_columns(table: Table, source: DataFrame, condition: Expression, alias: str, source_alias: str) -> SameColumns:
    """What a condition tells; nothing, if it is a Column."""
    pairs: dict[str, str] = {}
    found, is_all = equalities(condition) if isinstance(condition, str) else ([], False)
    for left, right in found:
        for mine, other in ((left, right), (right, left)):
            column = _column(mine, alias, table.schema.names)
            theirs = _column(other, source_alias, source.columns)
            if column is not None and theirs is not None and _are_equal_as_stored(table, source, column, theirs):
                pairs.setdefault(column, theirs)
    fixed = place_columns(table).union(table.schema.primary_keys) & pairs.keys()
    return SameColumns(pairs, is_all and len(found) == len(pairs), source_alias, source.columns, fixed)


def _are_equal_as_stored(table: Table, source: DataFrame, mine: str, theirs: str) -> bool:
    """True if values that are equal are stored alike: the text '007' equals the number 7, and is another key."""
    want = spark_type(table.schema.by_name[mine].type)
    have = next(field.dataType for field in source.schema.fields if field.name == theirs)
    return have == want or (isinstance(want, _INTEGRAL) and isinstance(have, _INTEGRAL))


def _column(parts: Sequence[str], alias: str, names: Sequence[str]) -> str | None:
    if len(parts) != 2 or parts[0].lower() != alias.lower():
        return None
    alike = [name for name in names if name == parts[1]] or [n for n in names if n.lower() == parts[1].lower()]
    return alike[0] if len(alike) == 1 else None


def source_range(
    table: Table,
    source: DataFrame,
    same: SameColumns,
    values_of: Callable[[Sequence[str]], Mapping[str, SourceValues]],
) -> Predicate:
    """What the values of the source tell of rows of the target that match, among others.

    Args:
        values_of: gives the values of columns of the source, by their names.
    """
    pairs = {
        table.schema.by_name[mine]: theirs
        for mine, theirs in same.pairs.items()
        if has_order(table.schema.by_name[mine]) and _are_equal_as_stored(table, source, mine, theirs)
    }
    values = values_of([*pairs.values()])
    return and_(*(values[theirs].predicate(table, field) for field, theirs in pairs.items()))
