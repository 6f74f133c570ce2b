"""PARTITION (...) of a table: which columns it names, and what its literals mean in them.

A literal is written as text, and the text is cast to the type of the column, whatever the literal is, as Spark does it
(Spark: PartitioningUtils.castPartitionSpec, ResolvePartitionSpec): ``dt = 11`` is the text 11 where dt is a STRING.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
from pyspark.sql import SparkSession

from paimon_spark.arrow.predicates.pruning import match_values
from paimon_spark.arrow.predicates.sql_text import parse_predicate
from paimon_spark.errors import SqlError
from paimon_spark.format.binary_row import decode_arity_row
from paimon_spark.format.paths import escape, partition_text
from paimon_spark.format.quoting import quoted
from paimon_spark.format.schema import TableSchema
from paimon_spark.format.types import BINARIES, STRINGS, TIMESTAMPS, DataField, Root
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.sql.text.cursor import PartitionSpec, PartitionValue
from paimon_spark.sql.text.literals import Value, literal_text, partition_condition
from paimon_spark.store.open import ReadableTable
from paimon_spark.store.scan.row_limits import check_unlimited
from paimon_spark.store.system_tables.request import Request
from paimon_spark.store.system_tables.totals import PartitionTotal, partition_totals

_ANY_CASE = Naming()
_PLAIN_INTEGERS = {Root.INT: 2**31, Root.BIGINT: 2**63}


def fixed_values(
    spark: SparkSession, name: str, fields: Sequence[DataField], spec: PartitionSpec, naming: Naming = _ANY_CASE
) -> dict[str, Value]:
    """The values that PARTITION (...) gives partition columns, as texts, by the names that the table has for them.

    Args:
        spark: casts the literals that are not plain.
        name: of the table, for messages.
        fields: its partition columns.
        naming: how names meet those of the table.

    Raises:
        SqlError: it names a column that is no partition column, or a value is none of the type of its column.
    """
    given: dict[str, tuple[DataField, PartitionValue]] = {}
    for item in spec:
        alike = naming.alike(item.column, [field.name for field in fields])
        if len(alike) != 1:
            problem = "may be several columns" if alike else "is no partition column"
            keys = ", ".join(field.name for field in fields) or "none"
            raise SqlError(f"PARTITION of {name}: {item.column} {problem}; those of the table are: {keys}")
        if item.is_given:
            given[alike[0]] = next(field for field in fields if field.name == alike[0]), item
    plain = {key: _plain(field, item) for key, (field, item) in given.items()}
    asked = {key: pair for key, pair in given.items() if plain[key] is None and pair[1].value is not None}
    return {**plain, **(_cast(spark, name, asked) if asked else {})}


def dynamic_columns(fields: Sequence[DataField], spec: PartitionSpec, naming: Naming) -> tuple[str, ...]:
    """The partition columns that PARTITION (...) names without values, in the order of the partition.

    Args:
        fields: the partition columns; ``fixed_values`` has checked that the names are theirs.
        naming: how names meet those of the table.
    """
    names = [field.name for field in fields]
    free = {name for item in spec if not item.is_given for name in naming.alike(item.column, names)}
    return tuple(name for name in names if name in free)


def required_values(
    spark: SparkSession, name: str, fields: Sequence[DataField], spec: PartitionSpec
) -> dict[str, Value]:
    """As ``fixed_values``, for a statement that reads or changes partitions: each column that is named has a value.

    Raises:
        SqlError: as of fixed_values, or a column has no value.
    """
    for item in spec:
        if not item.is_given:
            raise SqlError(
                f"PARTITION of {name}: {item.column} has no value; write {item.column} = ..., or leave the column out"
            )
    return fixed_values(spark, name, fields, spec)


def leading_values(spark: SparkSession, name: str, schema: TableSchema, spec: PartitionSpec) -> dict[str, Value]:
    """As ``required_values``, of the first partition columns or all of them.

    Raises:
        SqlError: as of required_values, or a column is named and one before it is not.
    """
    values = required_values(spark, name, schema.partition_fields, spec)
    leading = schema.partition_keys[: len(values)]
    missing = [key for key in leading if key not in values]
    if missing or not values:
        raise SqlError(
            f"PARTITION of {name}: {', '.join(values) or 'nothing'} is given and {', '.join(missing)} is not; "
            f"partitions are named by their first columns or all of them, in the order "
            f"{', '.join(schema.partition_keys)}"
        )
    return values


def whole_values(spark: SparkSession, name: str, schema: TableSchema, spec: PartitionSpec) -> dict[str, Value]:
    """As ``required_values``, of all partition columns.

    Raises:
        SqlError: as of required_values, or a partition column is not named.
    """
    values = required_values(spark, name, schema.partition_fields, spec)
    missing = [key for key in schema.partition_keys if key not in values]
    if missing:
        raise SqlError(f"PARTITION of {name}: {', '.join(missing)} needs a value too")
    return values


def the_partition(spark: SparkSession, name: str, table: ReadableTable, spec: PartitionSpec) -> PartitionTotal:
    """The one partition that a statement names.

    Raises:
        SqlError: as of whole_values, or there is no such partition.
        UnsupportedFeature: a server shows the user a part of the rows or values only.
    """
    values = whole_values(spark, name, table.schema, spec)
    check_unlimited(table, "describing a partition")
    found = find_partitions(table, values)
    if not found:
        raise SqlError(f"there is no {shown_values(values)} of {name}; SHOW PARTITIONS lists them")
    return found[0]


def shown_values(values: Mapping[str, Value]) -> str:
    """``PARTITION (dt = '2026-11-01', hour = '1')``, for messages."""
    return f"PARTITION ({', '.join(f'{key} = {literal_text(value)}' for key, value in values.items())})"


def find_partitions(table: ReadableTable, values: Mapping[str, Value]) -> list[PartitionTotal]:
    """The partitions with rows that have these values; their texts are those of Spark, as ``dt=2026-11-01/hour=1``."""

    def names(partitions: Sequence[bytes], fields: Sequence[DataField]) -> pa.Array:
        return pa.array([_name(partition, fields) for partition in partitions], pa.string())

    found = partition_totals(Request(table), names)
    if not values:
        return found
    schema = table.schema
    predicate = parse_predicate(partition_condition(values), schema.fields, table.time_zone)

    def fits(partition: PartitionTotal) -> bool:
        row = decode_arity_row(partition.partition, schema.partition_types)
        return match_values(predicate, dict(zip(schema.partition_keys, row, strict=True))) is True

    return [partition for partition in found if fits(partition)]


def _name(partition: bytes, fields: Sequence[DataField]) -> str:
    values = decode_arity_row(partition, [field.type for field in fields])
    parts = []
    for value, field in zip(values, fields, strict=True):
        text = "null" if value is None else partition_text(value, field.type, legacy=False)
        if value is not None and field.type.root in TIMESTAMPS and "." in text:
            text = text.rstrip("0").rstrip(".")
        parts.append(f"{escape(field.name)}={escape(text)}")
    return "/".join(parts)


def _plain(field: DataField, item: PartitionValue) -> Value:
    """The value of a literal whose text needs no cast; None: it needs one, or is NULL."""
    value, root = item.value, field.type.root
    if item.type:
        return None
    if isinstance(value, bytes) and root in BINARIES:
        return value
    if root in STRINGS and isinstance(value, str | bool | int | Decimal):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _PLAIN_INTEGERS.get(root, 0):
        return str(value)
    return None


def _cast(spark: SparkSession, name: str, given: Mapping[str, tuple[DataField, PartitionValue]]) -> dict[str, Value]:
    """The texts of values of the types of their columns."""
    columns = []
    for key, (field, item) in given.items():
        literal = f"{item.type} {literal_text(item.value)}".lstrip()
        wanted = spark_type(field.type).simpleString()
        columns.append(f"CAST(TRY_CAST(CAST({literal} AS STRING) AS {wanted}) AS STRING) AS {quoted(key)}")
    found = spark.sql(f"SELECT {', '.join(columns)}").collect()[0]
    for (key, (field, item)), value in zip(given.items(), found, strict=True):
        if value is None:
            raise SqlError(
                f"PARTITION of {name}: {literal_text(item.value)} is no value of the partition column {key}, which is "
                f"{spark_type(field.type).simpleString().upper()}"
            )
    return dict(zip(given, found, strict=True))
