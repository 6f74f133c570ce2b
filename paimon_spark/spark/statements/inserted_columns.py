"""The rows of an INSERT with the columns and types of the table, as Spark's store assignment makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from paimon_spark.errors import DataError, SqlError
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.aligned_values import Naming
from paimon_spark.spark.adapters.store_assignment import StoredAs, StorePolicy, has_names_of, stored
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.partitions import PartitionSpec

_ANY_CASE = Naming()


@dataclass(frozen=True)
class InsertTarget:
    """Where rows go.

    Attributes:
        name: of the table, for messages.
        fields: its columns.
        columns: the list of columns behind the table; (): none.
        by_name: whether the columns of the rows meet those of the table by their names.
        fixed: the partition columns that PARTITION (...) gives values.
        naming: how names meet those of the table.
    """

    name: str
    fields: Sequence[DataField]
    columns: tuple[str, ...] = ()
    by_name: bool = False
    fixed: Mapping[str, Value] = field(default_factory=dict)
    naming: Naming = _ANY_CASE


def fixed_values(
    name: str, partition_keys: Sequence[str], spec: PartitionSpec, naming: Naming = _ANY_CASE
) -> dict[str, Value]:
    """The values that PARTITION (...) gives partition columns, by the names that the table has for them.

    Raises:
        SqlError: it names a column that is no partition column.
    """
    found = {}
    for item in spec:
        alike = naming.alike(item.column, partition_keys)
        if len(alike) != 1:
            problem = "may be several columns" if alike else "is no partition column"
            keys = ", ".join(partition_keys) or "none"
            raise SqlError(f"PARTITION of {name}: {item.column} {problem}; those of the table are: {keys}")
        (key,) = alike
        if item.is_given:
            found[key] = item.value
    return found


def insert_frame(spark: SparkSession, rows: DataFrame, target: InsertTarget) -> DataFrame:
    """The rows with names and types of the table; columns of the table that they lack are left out.

    Raises:
        SqlError: there are more or fewer columns than the table or the list has, or a column is not in the table.
        DataError: a column cannot be stored as the type of the table.
    """
    pairs = _by_name(rows, target) if target.by_name else _by_position(rows, target)
    rules = StorePolicy.of(spark)
    # Positions, since a query may give two columns one name.
    numbered = rows.toDF(*[f"c{number}" for number in range(len(rows.columns))])
    columns = []
    for number, own in pairs:
        have, want = rows.schema.fields[number].dataType, spark_type(own.type)
        if target.by_name and not has_names_of(have, want, target.naming):
            raise DataError(
                f"INSERT INTO {target.name} BY NAME: the fields in '{own.name}' are {have.simpleString()}, those of "
                f"the table {want.simpleString()}; give them the names and the order of the table"
            )
        columns.append(
            stored(F.col(f"c{number}"), have, StoredAs(own.name, want, f"INSERT INTO {target.name}"), rules).alias(
                own.name
            )
        )
    by_key = {own.name: own for own in target.fields}
    for key, value in target.fixed.items():
        columns.append(F.lit(value).cast(spark_type(by_key[key].type)).alias(key))
    return numbered.select(*columns)


def with_fixed_values(rows: DataFrame, target: InsertTarget) -> DataFrame:
    """The rows of INSERT ... BY NAME that may change the schema, with the values of PARTITION (...) as columns.

    Raises:
        SqlError: the query gives a column a value that PARTITION gives one too.
    """
    same = target.naming.same
    repeated = sorted(key for key in target.fixed if same(key) in set(map(same, rows.columns)))
    if repeated:
        raise SqlError(f"INSERT INTO {target.name}: {repeated[0]} has a value in PARTITION, and is in the query too")
    by_key = {own.name: own for own in target.fields}
    fixed = {key: F.lit(value).cast(spark_type(by_key[key].type)) for key, value in target.fixed.items()}
    return rows.withColumns(fixed) if fixed else rows


def _by_name(rows: DataFrame, target: InsertTarget) -> list[tuple[int, DataField]]:
    pairs: list[tuple[int, DataField]] = []
    for number, name in enumerate(rows.columns):
        own = _column(target, name)
        if own.name in target.fixed:
            raise SqlError(f"INSERT INTO {target.name}: {own.name} has a value in PARTITION, and is in the query too")
        if any(own is other for _, other in pairs):
            raise SqlError(f"INSERT INTO {target.name} BY NAME: the query has two columns {own.name}")
        pairs.append((number, own))
    return pairs


def inserted_columns(target: InsertTarget) -> list[DataField]:
    """The columns that values without names go to, in order: those of the list, or all that PARTITION does not fix.

    Raises:
        SqlError: the list names a column twice, or one that is not in the table.
    """
    wanted = [_column(target, name) for name in target.columns] or list(target.fields)
    repeated = sorted({own.name for own in wanted if wanted.count(own) > 1})
    if repeated:
        raise SqlError(f"INSERT INTO {target.name}: the list names {', '.join(repeated)} more than once")
    return [own for own in wanted if own.name not in target.fixed]


def _by_position(rows: DataFrame, target: InsertTarget) -> list[tuple[int, DataField]]:
    wanted = inserted_columns(target)
    if len(rows.columns) != len(wanted):
        raise SqlError(
            f"INSERT INTO {target.name}: the query has {len(rows.columns)} columns ({', '.join(rows.columns)}), and "
            f"{len(wanted)} are needed ({', '.join(own.name for own in wanted)}); name the columns behind the table to "
            "leave some out, or insert BY NAME"
        )
    return list(enumerate(wanted))


def _column(target: InsertTarget, name: str) -> DataField:
    names = [own.name for own in target.fields]
    found = target.naming.alike(name, names)
    if len(found) != 1:
        what = "ambiguous" if found else "no column of the table"
        raise SqlError(f"INSERT INTO {target.name}: {name} is {what}; its columns are {', '.join(names)}")
    return target.fields[names.index(found[0])]
