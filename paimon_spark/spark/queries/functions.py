"""The values of functions in a text that we know: ``sys.max_pt`` (features 8.3; Java: MaxPtFunction), current names."""

from __future__ import annotations

from typing import Any

from paimon_spark.errors import SqlError
from paimon_spark.format.paths import partition_text
from paimon_spark.format.quoting import quoted
from paimon_spark.format.types import DataField, Root
from paimon_spark.spark.queries.session import SqlSession
from paimon_spark.sql.queries.functions import Call, current_names, max_partitions, with_values
from paimon_spark.sql.text.writing import literal_text
from paimon_spark.store.system_tables.largest_partition import largest_partition_value


def with_functions(session: SqlSession, text: str) -> str:
    """The text with the values of ``sys.max_pt('db.t')`` as literals, and those of ``current_catalog()`` and
    ``current_schema()`` while our catalog is the current one; a text without them as it is.

    Raises:
        SqlError: the argument is not one string, or the table has no partition columns or no partition with rows.
        TableNotFound: there is no such table.
        UnsupportedFeature: another function of ``sys`` is called.
    """
    calls = max_partitions(text, session.names)
    largest = {name: _largest(session, name) for name in {call.table for call in calls}}
    literals: dict[Call, str] = {call: largest[call.table] for call in calls}
    if session.database is not None:
        for called in current_names(text):
            value = literal_text(session.catalog.name if called.is_catalog else session.database)
            literals[called] = value + (f" AS {quoted(called.alias)}" if called.alias else "")
    return with_values(text, literals)


def _largest(session: SqlSession, name: str) -> str:
    table = session.open(session.table_name(name))
    if not table.schema.partition_fields:
        raise SqlError(f"sys.max_pt('{name}'): the table has no partition columns")
    value = largest_partition_value(table)
    if value is None:
        raise SqlError(f"sys.max_pt('{name}'): the table has no partitions, or none of them has rows")
    return _as_text(value, table.schema.partition_fields[0])


def _as_text(value: Any, field: DataField) -> str:
    """What Spark's cast of the value to a string is, in SQL. An instant is shown in the zone of the session."""
    root = field.type.root
    if root is Root.TIME:
        return literal_text(str(value))  # for Spark it is an INT: the milliseconds of the day
    text = partition_text(value, field.type, legacy=False)
    if root is Root.TIMESTAMP:
        return f"CAST(TIMESTAMP_NTZ {literal_text(text)} AS STRING)"
    if root is Root.TIMESTAMP_LTZ:
        return f"CAST(TIMESTAMP_LTZ {literal_text(f'{text} UTC')} AS STRING)"
    return literal_text(text)
