"""The rows of an INSERT with the columns and types of the table, as casts of ANSI SQL make them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as st

from paimon_spark.errors import PaimonError, SqlError
from paimon_spark.format.quoting import did_you_mean
from paimon_spark.format.types import DataField
from paimon_spark.spark.adapters.aligned_values import Naming, aligned, have_same_fields
from paimon_spark.spark.adapters.store_assignment import Given, StoredAs, StorePolicy, has_names_of, job_error, stored
from paimon_spark.spark.adapters.types import spark_type
from paimon_spark.sql.text.literals import Value
from paimon_spark.writes.options import MERGE_SCHEMA

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
        dynamic: the partition columns that PARTITION (...) names without values, in the order of the partition.
    """

    name: str
    fields: Sequence[DataField]
    columns: tuple[str, ...] = ()
    by_name: bool = False
    fixed: Mapping[str, Value] = field(default_factory=dict)
    naming: Naming = _ANY_CASE
    dynamic: tuple[str, ...] = ()


def insert_frame(spark: SparkSession, rows: DataFrame, target: InsertTarget) -> DataFrame:
    """The rows with names and types of the table; columns of the table that they lack are left out.

    BY NAME also means the fields of structs, at every depth; else they are taken by their positions. With a list of
    columns, those in arrays and maps are taken by name too, if they have the names of the table (as in release 2.0.0).

    Raises:
        SqlError: there are more or fewer columns than the table or the list has, or a column is not in the table.
        DataError: a column cannot be stored as the type of the table, or a struct lacks a field.
    """
    pairs = _by_name(rows, target) if target.by_name else _by_position(rows, target)
    rules, what = StorePolicy.of(spark), f"INSERT INTO {target.name}"
    # Positions, since a query may give two columns one name.
    numbered = rows.toDF(*[f"c{number}" for number in range(len(rows.columns))])
    columns = []
    for number, own in pairs:
        value, have, want = F.col(f"c{number}"), rows.schema.fields[number].dataType, spark_type(own.type)
        if _names_fields(target, have, want) and not has_names_of(have, want, target.naming):
            made = aligned(value, have, want, f"{what}: '{own.name}'", target.naming)
            value, have = made.value, made.type
        columns.append(stored(value, have, StoredAs(own.name, want, what), rules).alias(own.name))
    fixed = _fixed(numbered, target)
    return numbered.select(*columns, *(fixed[key].alias(key) for key in target.fixed))


@contextmanager
def insert_errors(target: InsertTarget, asked: DataFrame, made: DataFrame) -> Iterator[None]:
    """Says which column a value was for that Spark could not cast, and shows no view that stands for a table of ours.

    Args:
        asked: the rows of the query.
        made: the same as insert_frame has made them.

    Raises:
        DataError: a value does not fit into its column.
        SqlError: the query fails.
    """
    what = f"INSERT INTO {target.name}"

    def given() -> Iterator[Given]:
        for have, want in zip(asked.schema.fields, made.schema.fields, strict=False):  # fixed values follow
            yield Given(want.name, have.dataType, want.dataType)

    try:
        yield
    except PaimonError:
        raise
    except Exception as error:  # Spark's have no common base
        raise (job_error(error, what, given) or error) from None


def _names_fields(target: InsertTarget, have: st.DataType, want: st.DataType) -> bool:
    is_list = bool(target.columns) and isinstance(want, st.ArrayType | st.MapType)
    return target.by_name or (is_list and have_same_fields(have, want, target.naming))


def with_fixed_values(rows: DataFrame, target: InsertTarget) -> DataFrame:
    """The rows of INSERT ... BY NAME that may change the schema, with the values of PARTITION (...) as columns.

    Raises:
        SqlError: the query gives a column a value that PARTITION gives one too.
    """
    same = target.naming.same
    repeated = sorted(key for key in target.fixed if same(key) in set(map(same, rows.columns)))
    if repeated:
        raise SqlError(f"INSERT INTO {target.name}: {repeated[0]} has a value in PARTITION, and is in the query too")
    fixed = _fixed(rows, target)
    return rows.withColumns(fixed) if fixed else rows


def _fixed(rows: DataFrame, target: InsertTarget) -> dict[str, Column]:
    """The values of PARTITION (...) as its columns have them."""
    if not target.fixed:
        return {}
    literals = [F.lit(value).alias(f"v{number}") for number, value in enumerate(target.fixed.values())]
    types = [literal.dataType for literal in rows.select(*literals).schema.fields]
    rules, what = StorePolicy.of(rows.sparkSession), f"INSERT INTO {target.name} PARTITION"
    by_key = {own.name: own for own in target.fields}
    return {
        key: stored(F.lit(value), have, StoredAs(key, spark_type(by_key[key].type), what), rules)
        for (key, value), have in zip(target.fixed.items(), types, strict=True)
    }


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


def inserted_columns(target: InsertTarget, names: Sequence[str] = ()) -> list[DataField]:
    """The columns that values without names go to, in order: those of the list, or all that PARTITION does not fix.

    Columns that PARTITION names without values come last, as in Hive, unless the query calls its columns as the table
    does, in the order of the table (Java: MarkHiveDynamicPartitionWrite, PaimonAnalysis of release 2.0.0).

    Args:
        names: of the columns of the query, as far as they are known.

    Raises:
        SqlError: the list names a column twice, or one that is not in the table.
    """
    wanted = [_column(target, name) for name in target.columns] or list(target.fields)
    repeated = sorted({own.name for own in wanted if wanted.count(own) > 1})
    if repeated:
        raise SqlError(f"INSERT INTO {target.name}: the list names {', '.join(repeated)} more than once")
    free = [own for own in wanted if own.name not in target.fixed]
    same = target.naming.same
    if target.columns or [same(name) for name in names] == [same(own.name) for own in free]:
        return free
    by_name = {own.name: own for own in free}
    last = [by_name[name] for name in target.dynamic]
    return [own for own in free if own.name not in target.dynamic] + last


def _by_position(rows: DataFrame, target: InsertTarget) -> list[tuple[int, DataField]]:
    wanted = inserted_columns(target, rows.columns)
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
        near = "" if found else did_you_mean(name, names)
        adds = f"; '{MERGE_SCHEMA}' = 'true' lets INSERT ... BY NAME add it" if target.by_name and not found else ""
        raise SqlError(f"INSERT INTO {target.name}: {name} is {what}{near}; its columns are {', '.join(names)}{adds}")
    return target.fields[names.index(found[0])]
