"""Names of Spark that are not public, and what is done with them. ``check_internals`` looks for each of them.

They are the same in PySpark 4.1, 4.2 and 4.3, but for the class of the catalog manager.
"""

from __future__ import annotations

import io
import json
import logging
import os
import shutil
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from py4j.protocol import Py4JError
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.datasource import (
    CaseInsensitiveDict,
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)

from paimon_spark.errors import UnsupportedFeature
from paimon_spark.spark.adapters.decimals import short_decimals
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.spark_catalog.driver_calls import cached_paths, renamed_plan
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.planner_strategy import CLASSES

_log = logging.getLogger(__name__)
_V2 = "org.apache.spark.sql.execution.datasources.v2."
_PYTHON = _V2 + "python."
_SOURCES = "org.apache.spark.sql.execution.datasources."
_PROVIDER = _PYTHON + "PythonDataSourceV2"
_EXPRESSIONS = "org.apache.spark.sql.connector.expressions."
_READ = "org.apache.spark.sql.connector.read."
_CATALYST = "org.apache.spark.sql.catalyst."
_DECIMAL = _CATALYST + "expressions.MakeDecimal"
_COLUMNS = "org.apache.spark.sql.classic.ExpressionUtils"
_CLASSES = (
    _PYTHON + "UserDefinedPythonDataSource",
    _PROVIDER,
    _PYTHON + "PythonDataSourceCreationResult",
    _PYTHON + "PythonPartitionReaderFactory",
    _PYTHON + "PythonInputPartition",
    _V2 + "parquet.ParquetScanBuilder",
    _SOURCES + "DataSource",
    _SOURCES + "FilePartition",
    _SOURCES + "FileStatusCache",
    _SOURCES + "InMemoryFileIndex",
    _SOURCES + "PartitionSpec",
    _EXPRESSIONS + "FieldReference",
    "org.apache.spark.sql.connector.write.LogicalWriteInfoImpl",
    "org.apache.spark.sql.internal.connector.PredicateUtils",
    _CATALYST + "expressions.Alias",
    _DECIMAL,
    _COLUMNS,
    *CLASSES,
)
_CATALOGS, _PARSER = "catalogs", "sqlParser"
_DEFINED, _IS_DEFINED, _CREATED = "source", "bitmap$0", "dataSourceInPython"
"""Fields of a PythonDataSourceV2: the class, a lazy value of Scala; whether it is there; the instance, pickled."""
_MODULE = "pyspark_paimon"
_FOUND = _SOURCES + "DataSourceManager$.MODULE$"
_PYTHON_UTILS = "org.apache.spark.api.python.PythonUtils$.MODULE$"
_STATE = "org.apache.spark.sql.internal.SessionState"
_PLANNER = ("pyspark.sql.worker.plan_data_source_read", "write_read_func_and_partitions")
_WRAPPER = ("pyspark.sql.udf", "_wrap_function")


def check_internals(spark: SparkSession, objects: JvmObjects) -> None:
    """Checks that this Spark has all that a catalog needs.

    Raises:
        UnsupportedFeature: it lacks a name; the message says which.
    """
    for name in _CLASSES:
        try:
            objects.type(name)
        except Py4JError:
            raise _lacks(spark, f"the class {name}") from None
    for module, function in (_PLANNER, _WRAPPER):
        if not hasattr(import_module(module), function):
            raise _lacks(spark, f"the function {module}.{function}")
    try:
        _catalogs_field(spark._jsparkSession)
        objects.type(_STATE).getDeclaredField(_PARSER)
        for field in (_DEFINED, _IS_DEFINED, _CREATED):
            objects.type(_PROVIDER).getDeclaredField(field)
    except Py4JError:
        fields = f"'{_CATALOGS}' of the catalog manager, '{_PARSER}' of the session"
        raise _lacks(
            spark, f"the field {fields}, or one of '{_DEFINED}', '{_IS_DEFINED}' and '{_CREATED}' of {_PROVIDER}"
        ) from None


def _lacks(spark: SparkSession, what: str) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"registering a catalog in Spark {spark.version}: {what} is missing, which the catalog is made with; use "
        "paimon_spark.catalog(spark, ...), which needs public names alone"
    )


# -------------------------------------------------------------------------------------------------- catalogs and parser


def _catalogs_field(session: Java) -> tuple[Java, Java]:
    manager = session.sessionState().catalogManager()
    field = manager.getClass().getDeclaredField(_CATALOGS)
    field.setAccessible(True)
    return field, manager


def put_catalog(session: Java, name: str, catalog: Java) -> None:
    """Puts a catalog where a session of the JVM keeps those that it has loaded."""
    field, manager = _catalogs_field(session)
    field.get(manager).put(name, catalog)


def remove_catalog(session: Java, name: str) -> None:
    """Takes a catalog out of a session of the JVM."""
    field, manager = _catalogs_field(session)
    field.get(manager).remove(name)


def loaded_catalog(session: Java, name: str) -> Java:
    """The catalog that a session of the JVM has loaded under a name; None: it has loaded none."""
    field, manager = _catalogs_field(session)
    found = field.get(manager).get(name)
    return found.get() if found.isDefined() else None


def parser(session: Java, objects: JvmObjects) -> Java:
    """The parser of a session of the JVM."""
    return _parser_field(objects).get(session.sessionState())


def put_parser(session: Java, objects: JvmObjects, wrapped: Java) -> None:
    """Gives a session of the JVM another parser."""
    _parser_field(objects).set(session.sessionState(), wrapped)


def _parser_field(objects: JvmObjects) -> Java:
    field = objects.type(_STATE).getDeclaredField(_PARSER)
    field.setAccessible(True)
    return field


# ---------------------------------------------------------------------------------------------------------------- rows


def references(objects: JvmObjects, names: Iterable[str]) -> Java:
    """Columns of a table as expressions of the connector interfaces."""
    column = objects.static(_EXPRESSIONS + "FieldReference.column")
    return objects.array(_EXPRESSIONS + "NamedReference", [column(name) for name in names])


def struct_of(objects: JvmObjects, schema: st.StructType) -> Java:
    """A schema as the JVM has it."""
    return objects.static("org.apache.spark.sql.types.DataType.fromJson")(schema.json())


def column_names(schema: Java) -> tuple[str, ...]:
    """The names of the columns of a schema of the JVM, in one round trip."""
    return tuple(field["name"] for field in json.loads(schema.json())["fields"])


def dataset_of(frame: DataFrame) -> Java:
    """The Dataset of a DataFrame: it may be held, where a DataFrame would hold its session and SparkContext too."""
    return frame._jdf


def rows_of(dataset: Java) -> Java:
    """The rows of a Dataset that this process holds, as an array of InternalRow; no job runs for them."""
    return dataset.queryExecution().executedPlan().executeCollect()


def size_of(dataset: Java) -> int:
    """About how many bytes the rows of a Dataset are, as Spark estimates it."""
    return int(dataset.queryExecution().optimizedPlan().stats().sizeInBytes())


def has_no_cached_rows(spark: SparkSession) -> bool:
    """True if Spark holds the rows of no query."""
    return bool(spark._jsparkSession.sharedState().cacheManager().isEmpty())


def plan_of(dataset: Java) -> Java:
    """The plan of a Dataset, in which all names are resolved."""
    return dataset.queryExecution().analyzed()


def plan_with_output(dataset: Java, objects: JvmObjects, output: Java) -> Java:
    """The plan of a Dataset, to be run, with other attributes for its columns.

    Args:
        output: the attributes of the JVM, one for each column.
    """
    plan = plan_of(dataset)
    if plan.getClass().getSimpleName() == "MapInArrow":
        return plan.copy(plan.functionExpr(), output, plan.child(), plan.isBarrier(), plan.profile())
    return renamed_plan(objects, dataset.queryExecution().optimizedPlan(), output)


def rows_with_decimals(objects: JvmObjects, frame: DataFrame, schema: st.StructType) -> DataFrame:
    """Rows of a schema, of those whose short decimals are integers."""
    decimals, column = short_decimals(schema), objects.static(_COLUMNS + ".column")
    made, output = [], plan_of(dataset_of(frame)).output()  # names may differ in their case alone
    for number, field in enumerate(schema.fields):
        found, kind = output.apply(number), decimals.get(number)
        if kind is None:
            made.append(Column(column(found)))
        else:
            digits = objects.static(_DECIMAL)(found, kind.precision, kind.scale)
            made.append(Column(column(digits)).alias(field.name))
    return frame.select(made)


def data_frame(frame: Java, spark: SparkSession) -> DataFrame:
    """A Dataset of the JVM as DataFrame of Python."""
    return DataFrame(frame, spark)


# ------------------------------------------------------------------------------------------------- Python data source


def python_batch(
    spark: SparkSession,
    objects: JvmObjects,
    reader: DataSourceReader | DataSourceStreamReader,
    source: DataSource,
    schema: st.StructType,
) -> tuple[Java, Java]:
    """A read by Python in tasks that this process has planned: no other process is started for that.

    Returns:
        The partitions, none for a stream, and the factory of their readers.
    """
    out = io.BytesIO()
    getattr(import_module(_PLANNER[0]), _PLANNER[1])(
        out, reader=reader, data_source=source, schema=schema, max_arrow_batch_size=10_000, binary_as_bytes=True
    )
    function, *partitions = _frames(out.getvalue())
    none = objects.static("scala.Option.empty")()
    defined = _defined_source(spark, objects, type(source))
    factory = objects.static(_PYTHON + "PythonPartitionReaderFactory")(
        defined, function, struct_of(objects, schema), none, none
    )
    made = objects.static(_PYTHON + "PythonInputPartition")
    parts = objects.array(_READ + "InputPartition", [made(number, part) for number, part in enumerate(partitions)])
    return parts, factory


def python_partitions(objects: JvmObjects, partitions: Iterable[InputPartition]) -> Java:
    """Partitions for the factory of ``python_batch``, planned later than that was made."""
    made, pickled = objects.static(_PYTHON + "PythonInputPartition"), CloudPickleSerializer()
    parts = [made(number, pickled.dumps(partition)) for number, partition in enumerate(partitions)]
    return objects.array(_READ + "InputPartition", parts)


def python_metrics(spark: SparkSession, objects: JvmObjects) -> Java:
    """The metrics of Spark for reads by Python: the same for all of them."""
    return objects.kept("metrics of Python", lambda: _defined_source(spark, objects, DataSource).createPythonMetrics())


def _defined_source(spark: SparkSession, objects: JvmObjects, source: type[DataSource]) -> Java:
    wrap = getattr(import_module(_WRAPPER[0]), _WRAPPER[1])
    return objects.static(_PYTHON + "UserDefinedPythonDataSource")(wrap(spark.sparkContext, source))


def _frames(data: bytes) -> list[bytes]:
    """What PySpark's planner writes: length and function, a count, then length and partition of each."""
    found, at = [], 0

    def take() -> bytes:
        nonlocal at
        (length,) = struct.unpack_from("!i", data, at)
        at += 4 + length
        return data[at - length : at]

    found.append(take())
    (count,) = struct.unpack_from("!i", data, at)
    at += 4
    return found + [take() for _ in range(count)]


def python_table(spark: SparkSession, objects: JvmObjects, schema: Java, options: Mapping[str, str]) -> Java:
    """The table that Spark makes of the Python data source, for its streams and its writes.

    This process makes the data source. Spark would start two Python processes for it, which the user waits for: one
    that finds the class by its name (``lookup_data_sources`` of PySpark), and one that makes the instance
    (``create_data_source``).

    Args:
        options: those with which the table will be read or written, all of them.
    """
    source = CloudPickleSerializer().dumps(PaimonDataSource(CaseInsensitiveDict(options)))
    values = {
        _DEFINED: _defined_source(spark, objects, PaimonDataSource),
        _IS_DEFINED: True,
        _CREATED: objects.static(_PYTHON + "PythonDataSourceCreationResult")(source, schema),
    }
    provider = objects.static(_PROVIDER)()
    provider.setShortName(PaimonDataSource.name())
    for name, value in values.items():
        field = objects.type(_PROVIDER).getDeclaredField(name)
        field.setAccessible(True)
        field.set(provider, value)
    transforms = objects.array("org.apache.spark.sql.connector.expressions.Transform", [])
    return provider.getTable(schema, transforms, objects.map(options))


def put_data_source(spark: SparkSession, objects: JvmObjects) -> None:
    """Tells the JVM of the data source, which it would find by a Python process that the user waits for.

    That process (``lookup_data_sources`` of PySpark) imports each module named ``pyspark_*``, once in a JVM, when a
    DataFrame names a format first. It is left to Spark where it may find others than that of this package, or none.
    """
    try:
        found = objects.static(_FOUND)
        if found.dataSourceBuilders().isDefined() or not _finds_this_one_alone(objects):
            return
        pickled = CloudPickleSerializer().dumps(PaimonDataSource)
        made = objects.static(_PYTHON + "UserDefinedPythonDataSource")(
            objects.static(_PYTHON_UTILS).createPythonFunction(pickled)
        )
        by_name = objects.static("scala.jdk.javaapi.CollectionConverters.asScala")(
            objects.map({PaimonDataSource.name(): made})
        )
        known = objects.static("scala.collection.immutable.HashMap.from")(by_name)
        getattr(found, "dataSourceBuilders_$eq")(objects.static("scala.Option.apply")(known))
    except Py4JError:
        _log.debug("Spark %s looks for data sources by itself", spark.version, exc_info=True)


def _finds_this_one_alone(objects: JvmObjects) -> bool:
    """True if the process that looks for data sources runs this Python, and has no other module of that kind."""
    python = shutil.which(objects.static(_PYTHON_UTILS).defaultPythonExec())
    mine = Path(sys.executable)
    if python is None or Path(python).parent != mine.parent or not mine.samefile(python):
        return False
    names = {name for place in {*sys.path, os.getcwd()} for name in _names_at(place or os.curdir)}
    return {name.partition(".")[0] for name in names if name.startswith("pyspark_")} == {_MODULE}


def _names_at(place: str) -> Iterable[str]:
    """What may be modules at a place of the path. ``iter_modules`` also lists each directory there, to see if it is."""
    return os.listdir(place) if os.path.isdir(place) else (module.name for module in iter_modules([place]))


def source_stream(
    spark: SparkSession, objects: JvmObjects, schema: Java, options: Mapping[str, str], checkpoint: str
) -> Java:
    """The stream of the Python data source."""
    made = python_table(spark, objects, schema, options)
    return made.newScanBuilder(option_map(objects, options)).build().toMicroBatchStream(checkpoint)


def option_map(objects: JvmObjects, options: Mapping[str, str]) -> Java:
    return objects.static("org.apache.spark.sql.util.CaseInsensitiveStringMap")(objects.map(options))


def write_info(objects: JvmObjects, info: Java, options: Mapping[str, str]) -> Java:
    """What Spark says of a write, with other options."""
    empty = objects.static("java.util.Optional.empty")()
    made = objects.static("org.apache.spark.sql.connector.write.LogicalWriteInfoImpl")
    return made(info.queryId(), info.schema(), option_map(objects, options), empty, empty)


# ------------------------------------------------------------------------------------------------------------- parquet


def parquet_scan(
    spark: SparkSession,
    objects: JvmObjects,
    files: Sequence[tuple[str, int]],
    schema: st.StructType,
    options: Mapping[str, str],
    filters: Sequence[Any],
    extractions: Java = None,
) -> Java:
    """Spark's own scan of Parquet files. It lists none of them: their sizes are known.

    Args:
        files: (path, size) of each.
        schema: of the rows: columns as the files have them.
        filters: predicates of the connector interfaces, by which row groups are skipped. They are on columns of the
            schema alone: a filter on a column that is not read would drop all rows.
        extractions: an array of the parts that are read of VARIANT columns in their place; None: these are whole.
    """
    session = spark._jsparkSession
    cache = objects.static(_SOURCES + "FileStatusCache.getOrCreate")(session)
    paths = cached_paths(objects, cache, files)
    some, none = objects.static("scala.Some"), objects.static("scala.Option.empty")()
    columns = struct_of(objects, schema)
    as_map = objects.static("org.apache.spark.api.python.PythonUtils.toScalaMap")(objects.map(options))
    unpartitioned = some(objects.static(_SOURCES + "PartitionSpec.emptySpec")())
    index = objects.static(_SOURCES + "InMemoryFileIndex")(
        session, paths, as_map, some(columns), cache, unpartitioned, none
    )
    builder = objects.static(_V2 + "parquet.ParquetScanBuilder")(
        session, index, columns, columns, option_map(objects, options)
    )
    builder.pruneColumns(columns)
    if filters:
        given = objects.array("org.apache.spark.sql.connector.expressions.filter.Predicate", filters)
        v1 = objects.static("org.apache.spark.sql.internal.connector.PredicateUtils.toV1")(given)
        getattr(builder, "pushedDataFilters_$eq")(v1)
    if extractions is not None:
        builder.pushVariantExtractions(extractions)
    return builder.build()


def file_partitions(objects: JvmObjects, batch: Java, bucket_of: Mapping[str, int]) -> list[tuple[int, Java]]:
    """The files of Spark's own scan, each bucket in one partition.

    Args:
        bucket_of: by the name of the file.
    """
    found: dict[int, list[Java]] = {}
    for partition in batch.planInputPartitions():
        for file in partition.files():
            found.setdefault(bucket_of[file.toPath().getName()], []).append(file)
    made = objects.static(_SOURCES + "FilePartition")
    return [
        (bucket, made(number, objects.array(_SOURCES + "PartitionedFile", files)))
        for number, (bucket, files) in enumerate(found.items())
    ]
