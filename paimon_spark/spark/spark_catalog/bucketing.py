"""Reported partitioning: Spark knows the bucket of each partition of a scan, and joins buckets without an exchange.

Java: org.apache.spark.sql.connector.read.{SupportsReportPartitioning, HasPartitionKey}. What Spark's own readers take
are partitions of Spark's own classes, and none of these has a key. So the driver has objects of both interfaces that
Python makes; each is written to an executor as the partition that Spark reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from paimon_spark.format.bucket import bucket_fields
from paimon_spark.format.types import INTEGERS, Root
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.spark_internals import file_partitions, references
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.read_spec import Plan

FUNCTION = "bucket"
_DEFAULT = "default"
_SETTING = "spark.sql.sources.v2.bucketing."
_READ = "org.apache.spark.sql.connector.read."
_FUNCTIONS = "org.apache.spark.sql.connector.catalog.functions."
_EXPRESSIONS = "org.apache.spark.sql.connector.expressions."
_INTEGER = "org.apache.spark.sql.types.DataTypes.IntegerType"
_REPLACED = "scala.collection.generic.DefaultSerializable"
"""Has the method ``writeReplace``: what Java writes in the place of an object."""
_HASHED_ALIKE = frozenset({Root.BOOLEAN, Root.DECIMAL, Root.VARCHAR, Root.DATE, *INTEGERS})
"""Types of which Spark's name tells the hash, and of which equal values have equal hashes."""


@dataclass(frozen=True)
class Bucketing:
    """The rows of a scan lie in buckets by the hash of one column.

    Attributes:
        column: its name.
        count: of the buckets.
    """

    column: str
    count: int

    def reported(self, objects: JvmObjects, batch: Java) -> Java:
        """The partitioning of a batch."""
        number = objects.static(_EXPRESSIONS + "LiteralValue")(self.count, objects.static(_INTEGER))
        given = objects.array(_EXPRESSIONS + "Expression", [number, *references(objects, (self.column,))])
        transform = objects.static(_EXPRESSIONS + "Expressions.apply")(FUNCTION, given)
        keys = objects.array(_EXPRESSIONS + "Expression", [transform])
        return objects.static(_READ + "partitioning.KeyGroupedPartitioning")(keys, len(batch.planInputPartitions()))


def bucketing(spark: SparkSession, table: Table, plan: Plan, names: Iterable[str]) -> Bucketing | None:
    """What is reported of a read; None: the session does not ask for it, or the files have no such buckets.

    A session asks by ``spark.sql.sources.v2.bucketing.enabled``, also where that is the default of Spark: each bucket
    is then at least one task. If Spark may shuffle the other side of a join into buckets, it would have to hash as
    Paimon does, which no class of Spark can.

    Args:
        names: the columns that are read.
    """
    asked, shuffles = (spark.conf.get(_SETTING + key, "false") for key in ("enabled", "shuffle.enabled"))
    fields = bucket_fields(table.schema, table.settings)
    if asked != "true" or shuffles == "true" or plan.hashed_buckets is None or len(fields) != 1:
        return None
    (field,) = fields
    if field.name not in names or field.type.root not in _HASHED_ALIKE or table.settings.bucket_function != _DEFAULT:
        return None
    return Bucketing(field.name, plan.hashed_buckets)


def keyed_batch(objects: JvmObjects, batch: Java, partitions: Iterable[tuple[int, Java]], text: str) -> Java:
    """A batch whose partitions have their bucket as key.

    Args:
        batch: has the factory of readers.
        partitions: the bucket, and what the readers take.
        text: batches of one text are equal.
    """
    row = objects.static("org.apache.spark.sql.catalyst.expressions.GenericInternalRow")
    kinds = [_READ + "HasPartitionKey", _REPLACED]
    made = []
    for number, (bucket, partition) in enumerate(partitions):
        constants = {"partitionKey": row(objects.array("java.lang.Object", [bucket])), "writeReplace": partition}
        made.append(objects.make(kinds, None, constants, f"{text}, partition {number}", partition))
    planned = {"planInputPartitions": objects.array(_READ + "InputPartition", made)}
    return objects.make([_READ + "Batch"], None, planned, text, batch)


def keyed_files(objects: JvmObjects, batch: Java, bucket_of: Mapping[str, int], text: str) -> Java:
    """A batch of Spark's own scan, in which each bucket is one partition.

    Args:
        bucket_of: by the name of the file.
    """
    return keyed_batch(objects, batch, file_partitions(objects, batch, bucket_of), text)


def bucket_function(objects: JvmObjects) -> Java:
    """The function of the partitioning: Spark compares its name and its types, and never runs it."""
    constants = {"name": FUNCTION, "description": "the bucket of a row; it is not for queries"}
    return objects.make([_FUNCTIONS + "UnboundFunction"], _BucketFunction(objects), constants)


@dataclass(frozen=True)
class _BucketFunction:
    """Answers for the function before its types are known."""

    objects: JvmObjects

    def bind(self, given: Java) -> Java:
        types = [field.dataType() for field in given.fields()]
        canonical = f"paimon.{FUNCTION}({', '.join(found.catalogString() for found in types)})"
        constants = {
            "writeReplace": None,  # plans are written to executors, which have no use for it
            "name": FUNCTION,
            "canonicalName": canonical,
            "inputTypes": self.objects.array("org.apache.spark.sql.types.DataType", types),
            "resultType": self.objects.static(_INTEGER),
        }
        return self.objects.make([_FUNCTIONS + "BoundFunction", _REPLACED], None, constants, canonical)
