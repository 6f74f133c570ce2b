"""Updates that a merge engine would not apply are errors, not silence."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as sf

from paimon_spark.errors import DataError, UnsupportedFeature
from paimon_spark.format.quoting import quoted
from paimon_spark.row_changes.update_rules import (
    DELETE,
    INSERT,
    INSERTED,
    UPDATE,
    RowRule,
    Wrong,
    delete_rules,
    insert_rules,
    update_rules,
)
from paimon_spark.spark.adapters.char_columns import stored_column
from paimon_spark.spark.adapters.errors import raised
from paimon_spark.spark.adapters.types import loses_digits
from paimon_spark.spark.rows.assignments import Assignment
from paimon_spark.store.metadata.table import Table


def update_kind(table: Table, given: Sequence[Assignment], values: Sequence[Column], alias: str) -> Column:
    """The kind +U, or an error of the job for a row that the merge engine would not take as it is.

    Args:
        given: the assignments.
        values: the new values of all columns of the table.
        alias: of the table, whose columns are the old values.
    """
    rules = update_rules(table, {item.field.name for item in given})
    new = dict(zip(table.schema.names, values, strict=True))
    old = {field.name: stored_column(field, alias) for field in table.schema.fields} if rules else {}
    return _unless(rules, UPDATE, old, new)


def insert_kind(table: Table, values: Sequence[Column]) -> Column:
    """The kind +I, or an error of the job for a row that would not be added.

    Args:
        values: of all columns of the table.
    """
    return _unless(insert_rules(table), INSERT, {}, dict(zip(table.schema.names, values, strict=True)))


def delete_kind(table: Table, alias: str) -> Column:
    """The kind -D, or an error of the job for a row that the merge engine would not remove.

    Args:
        alias: of the table, whose columns are the values of the row.
    """
    rules = delete_rules(table)
    old = {name: sf.col(f"{quoted(alias)}.{quoted(name)}") for name in table.schema.names} if rules else {}
    return _unless(rules, DELETE, old, {})


def _unless(rules: Sequence[RowRule], kind: str, old: Mapping[str, Column], new: Mapping[str, Column]) -> Column:
    """The kind, unless a row breaks a rule."""
    result = sf.lit(kind)
    for rule in rules:
        error = raised(DataError, rule.text).cast("string")
        result = sf.when(_is_wrong(rule, old, new), error).otherwise(result)
    return result


def _is_wrong(rule: RowRule, old: Mapping[str, Column], new: Mapping[str, Column]) -> Column:
    """True for a row that breaks a rule; see Wrong."""
    name = rule.names[0]
    match rule.wrong:
        case Wrong.OLDER:
            return _struct(new, rule.names) < _struct(old, rule.names)
        case Wrong.NEWER:
            return _struct(old, rule.names) < _struct(new, rule.names)
        case Wrong.UNORDERED:
            without = functools.reduce(operator.and_, (new[key].isNull() for key in rule.names[1:]))
            return ~new[name].eqNullSafe(old[name]) & without
        case Wrong.CLEARED:
            return new[name].isNull() & old[name].isNotNull()
        case Wrong.CHANGED:
            return ~new[name].eqNullSafe(old[name])
        case Wrong.REMOVES:
            return ~sf.coalesce(new[name].isin(*INSERTED), sf.lit(False))
        case Wrong.EMPTY:
            return functools.reduce(operator.or_, (old[key].isNull() for key in rule.names))


def _struct(columns: Mapping[str, Column], names: Sequence[str]) -> Column:
    return sf.struct(*(columns[name] for name in names))


def check_digits(table: Table, names: Iterable[str], why: str) -> None:
    """Refuses columns with digits that Spark cuts, where the whole values must come back from it.

    Args:
        names: of the columns.
        why: what would go wrong, for the message.

    Raises:
        UnsupportedFeature: a column has times finer than microseconds.
    """
    cut = [name for name in names if loses_digits(table.schema.by_name[name].type)]
    if cut:
        raise UnsupportedFeature(
            f"changing rows of {table.location}: the column '{cut[0]}' has times finer than microseconds, whose last "
            f"digits Spark cuts: {why}; change them with an engine that keeps all digits"
        )


def check_kept_digits(table: Table, given: Sequence[Assignment]) -> None:
    """Refuses an update whose rows would lose digits in columns that it does not assign; errors as of check_digits."""
    assigned = {item.field.name for item in given}
    kept = [name for name in table.schema.names if name not in assigned]
    check_digits(table, kept, "the rows that are updated would lose them")
