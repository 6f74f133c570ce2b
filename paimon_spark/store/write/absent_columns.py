"""Which columns of a table the rows of a write may lack.

Null in place of a value takes the stored value away from a table with a primary key, so a column that was forgotten is
an error unless null means "leave it as it is" to the merge engine, or the caller says what to put there.
"""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.arrow.alignment import match_columns
from paimon_spark.format.options import core_options as o
from paimon_spark.format.rules.missing_columns import DEFAULT, ERROR, NULL
from paimon_spark.format.types import DataField
from paimon_spark.merge.engines.choice import engine_for
from paimon_spark.store.metadata.table import Table


def omissible_columns(
    table: Table, names: Sequence[str], missing: str = ERROR, replaces: bool = False
) -> frozenset[str]:
    """The columns of the table that rows with some columns may lack.

    Args:
        table: with the options of the write.
        names: the columns of the rows.
        missing: NULL: every column that can hold null, but none with a default value, for a null becomes that. DEFAULT:
            those too. ERROR: those where it takes nothing away: columns with a default value of a table without a
            primary key, and columns that the merge engine leaves alone when a row has null in them.
        replaces: whether the write takes all rows of its partitions away, so that there is nothing to leave alone.

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
    """Those that the merge engine leaves alone. Columns that say what a row is, how new, or where, are none of them."""
    options, schema = table.options, table.schema
    telling = {*schema.partition_keys, *options.value(o.SEQUENCE_FIELD), options.value(o.ROWKIND_FIELD)}
    return engine_for(schema, options).left_alone(absent) - telling


def _names(fields: Sequence[DataField]) -> frozenset[str]:
    return frozenset(field.name for field in fields)
