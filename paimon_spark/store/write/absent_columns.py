"""Determines the columns of a table that the rows of a write may lack.

In a table with a primary key, a null replaces the stored value. So a missing column is an error, unless the merge
engine keeps the stored value for a null, or the caller says how to fill the column.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.arrow.alignment import match_columns
from paimon_spark.format.rules.missing_columns import DEFAULT, ERROR, NULL
from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.choice import engine_for
from paimon_spark.store.metadata.table import Table


def omissible_columns(
    table: Table, names: Sequence[str], missing: str = ERROR, replaces: bool = False
) -> frozenset[str]:
    """The columns of the table that rows with the given columns may lack.

    Args:
        table: the table, with the options of the write.
        names: the columns of the rows.
        missing: NULL: every nullable column without a default value (a null would become the default). DEFAULT: also
            columns with a default value. ERROR: only columns whose absence loses nothing: columns with a default value
            in an append table, and columns that the merge engine does not change when a row has null in them.
        replaces: whether the write replaces all rows of its partitions, so that there are no stored values to keep.

    Raises:
        OptionError, UnsupportedFeature: the merge engine does not fit the table.
    """
    given = match_columns(names, table.schema.fields)
    absent = [field for field in table.schema.fields if field.name not in given]
    if missing == DEFAULT:
        return _names(absent)
    without_default = [field for field in absent if field.default_value is None]
    if missing == NULL:
        return _names(without_default)
    if not table.schema.primary_keys:
        return _names(absent) - _names(without_default)
    return frozenset() if replaces else _left_alone(table, _names(without_default))


def _left_alone(table: Table, absent: frozenset[str]) -> frozenset[str]:
    """The absent columns that the merge engine does not change; never row kind, sequence or partition columns."""
    settings, schema = table.settings, table.schema
    telling = {*schema.partition_keys, *settings.sequence_field, settings.rowkind_field}
    return engine_for(schema, settings).left_alone(absent) - telling


def _names(fields: Sequence[DataField]) -> frozenset[str]:
    return frozenset(field.name for field in fields)
