"""The rows of an INSERT with the columns and types of the table, as Spark's store assignment makes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from paimon_spark.errors import DataError, SqlError
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.sql.text.literals import Value
from paimon_spark.sql.text.partitions import PartitionSpec

POLICY = "spark.sql.storeAssignmentPolicy"
_INTERVALS = (st.CalendarIntervalType, st.DayTimeIntervalType, st.YearMonthIntervalType)
_DATETIMES = (st.DateType, st.TimestampType, st.TimestampNTZType)


@dataclass(frozen=True)
class InsertTarget:
    """Where rows go.

    Attributes:
        name: of the table, for messages.
        fields: its columns.
        columns: the list of columns behind the table; (): none.
        by_name: whether the columns of the rows meet those of the table by their names.
        fixed: the partition columns that PARTITION (...) gives values.
    """

    name: str
    fields: Sequence[DataField]
    columns: tuple[str, ...] = ()
    by_name: bool = False
    fixed: Mapping[str, Value] = field(default_factory=dict)


def fixed_values(name: str, partition_keys: Sequence[str], spec: PartitionSpec) -> dict[str, Value]:
    """The values that PARTITION (...) gives partition columns, by the names that the table has for them.

    Raises:
        SqlError: it names a column that is no partition column.
    """
    found = {}
    for item in spec:
        key = next((key for key in partition_keys if key.lower() == item.column.lower()), None)
        if key is None:
            keys = ", ".join(partition_keys) or "none"
            raise SqlError(f"PARTITION of {name}: {item.column} is no partition column; those of the table are: {keys}")
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
    policy = (spark.conf.get(POLICY, "ANSI") or "ANSI").upper()
    is_ansi = (spark.conf.get("spark.sql.ansi.enabled", "true") or "true").lower() == "true"
    # Positions, since a query may give two columns one name.
    numbered = rows.toDF(*[f"c{number}" for number in range(len(rows.columns))])
    columns = []
    for number, own in pairs:
        have, want = rows.schema.fields[number].dataType, spark_type(own.type)
        if target.by_name and not has_names_of(have, want):
            raise DataError(
                f"INSERT INTO {target.name} BY NAME: the fields in '{own.name}' are {have.simpleString()}, those of "
                f"the table {want.simpleString()}; give them the names and the order of the table"
            )
        columns.append(_stored(F.col(f"c{number}"), have, want, own, target.name, policy, is_ansi).alias(own.name))
    by_key = {own.name: own for own in target.fields}
    for key, value in target.fixed.items():
        columns.append(F.lit(value).cast(spark_type(by_key[key].type)).alias(key))
    return numbered.select(*columns)


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
    exact = [own for own in target.fields if own.name == name]
    found = exact or [own for own in target.fields if own.name.lower() == name.lower()]
    if len(found) != 1:
        names = ", ".join(own.name for own in target.fields)
        what = "ambiguous" if found else "no column of the table"
        raise SqlError(f"INSERT INTO {target.name}: {name} is {what}; its columns are {names}")
    return found[0]


# --------------------------------------------------------------------------------------------------------------- values


def _stored(
    column: Column, have: st.DataType, want: st.DataType, own: DataField, table: str, policy: str, is_ansi: bool
) -> Column:
    """A column as the type of the table. A value that does not fit fails the job, also where ANSI mode is off."""
    if have == want:
        return column
    if policy != "LEGACY" and not can_store(have, want, is_strict=policy == "STRICT"):
        raise DataError(
            f"INSERT INTO {table}: {have.simpleString()} cannot be stored in the column '{own.name}', which is "
            f"{want.simpleString()}; cast it in the query"
        )
    if is_ansi or policy == "LEGACY":
        return column.cast(want)
    if not isinstance(want, st.AtomicType) and not can_store(have, want, is_strict=True):
        raise DataError(  # try_cast would make NULLs of the values in it that do not fit, and nobody would know
            f"INSERT INTO {table}: values in the column '{own.name}' may not fit from {have.simpleString()} into "
            f"{want.simpleString()}, and the session has ANSI mode off; cast it in the query"
        )
    message = F.concat(
        F.lit(f"INSERT INTO {table}: a value does not fit into the column '{own.name}' {want.simpleString()}: "),
        column.cast("string"),
    )
    fits = column.try_cast(want)
    return F.when(column.isNull() | fits.isNotNull(), fits).otherwise(F.raise_error(message).cast(want))


def has_names_of(have: st.DataType, want: st.DataType) -> bool:
    """Whether the fields in a type have the names of another, in its order: a cast goes by their positions."""
    match have, want:
        case st.StructType(), st.StructType():
            names = [name.lower() for name in have.names], [name.lower() for name in want.names]
            pairs = zip(have.fields, want.fields, strict=False)
            return names[0] == names[1] and all(has_names_of(h.dataType, w.dataType) for h, w in pairs)
        case st.ArrayType(), st.ArrayType():
            return has_names_of(have.elementType, want.elementType)
        case st.MapType(), st.MapType():
            return has_names_of(have.keyType, want.keyType) and has_names_of(have.valueType, want.valueType)
    return True


def can_store(have: st.DataType, want: st.DataType, is_strict: bool = False) -> bool:
    """Whether values of one type may be stored as another (Spark: Cast.canANSIStoreAssign, canUpCast).

    Args:
        is_strict: only where no value can lose anything.
    """
    match have, want:
        case st.NullType(), _:
            return True
        case st.ArrayType(), st.ArrayType():
            return want.containsNull >= have.containsNull and can_store(have.elementType, want.elementType, is_strict)
        case st.MapType(), st.MapType():
            return (
                want.valueContainsNull >= have.valueContainsNull
                and can_store(have.keyType, want.keyType, is_strict)
                and can_store(have.valueType, want.valueType, is_strict)
            )
        case st.StructType(), st.StructType():
            return len(have) == len(want) and all(
                w.nullable >= h.nullable and can_store(h.dataType, w.dataType, is_strict)
                for h, w in zip(have.fields, want.fields, strict=True)
            )
        case st.NumericType(), st.NumericType():
            return _widens(have, want) if is_strict else True
    if have == want or (isinstance(have, _DATETIMES) and isinstance(want, _DATETIMES)):
        return have == want or not is_strict or isinstance(have, st.DateType)
    if isinstance(want, st.StringType):
        return (isinstance(have, st.AtomicType) and not isinstance(have, st.BinaryType)) or isinstance(have, _INTERVALS)
    return False


def _widens(have: st.NumericType, want: st.NumericType) -> bool:
    order = (st.ByteType, st.ShortType, st.IntegerType, st.LongType, st.FloatType, st.DoubleType)
    if isinstance(have, order) and isinstance(want, order):
        return order.index(type(have)) <= order.index(type(want))
    if isinstance(want, st.DecimalType):
        digits: dict[type[st.DataType], int] = {st.ByteType: 3, st.ShortType: 5, st.IntegerType: 10, st.LongType: 20}
        if isinstance(have, st.DecimalType):
            return want.scale >= have.scale and want.precision - want.scale >= have.precision - have.scale
        return type(have) in digits and want.precision - want.scale >= digits[type(have)]
    return isinstance(have, st.DecimalType) and isinstance(want, st.DoubleType)
