"""A stream of a table by its name, as Spark drives it: this process plans its micro-batches, and starts no other one.

Java: org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, SupportsTriggerAvailableNow}. The offsets are
those of the Python data source, which a stream by path still uses: each goes on with a checkpoint of the other.
Spark's own Parquet reader reads the micro-batches whose files it reads as they are, and tasks of Python the others.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import types as st
from pyspark.sql.datasource import CaseInsensitiveDict

from paimon_spark.spark.native.parquet_scan import AS_WRITTEN
from paimon_spark.spark.native.session_settings import SessionSettings
from paimon_spark.spark.native.stream_files import FilePart, may_read_natively, native_parts
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.spark_catalog.jvm_objects import Java, JvmObjects
from paimon_spark.spark.spark_catalog.sessions import NamedTable
from paimon_spark.spark.spark_catalog.spark_internals import (
    parquet_scan,
    part_sizes,
    python_batch,
    python_partitions,
    source_stream,
    struct_of,
)
from paimon_spark.spark.stream_source.stream_reader import (
    PaimonStreamReader,
    ReadAllAvailable,
    ReadLimit,
    UnitPartition,
)
from paimon_spark.store.stream_source.units import StreamUnit

_log = logging.getLogger(__name__)
_READ = "org.apache.spark.sql.connector.read."
_STREAMING = _READ + "streaming."
_OFFSET = "org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSourceOffset"
_ALL, _LIMITS = _STREAMING + "ReadAllAvailable", _STREAMING + "ReadLimit"
_KINDS = (_STREAMING + "MicroBatchStream", _STREAMING + "SupportsTriggerAvailableNow")
_MOST_FILES = 2**31 - 1
_PLANNER, _THREAD = "MicroBatchExecution.logicalPlan$lzycompute", "stream execution thread for"
_FILES = "PaimonStreamFiles"
_FILES_SOURCE = """
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;

public class PaimonStreamFiles {
    public InputPartition[] partitions(String text) {
        if (text.isEmpty()) return new InputPartition[0];
        String[] tasks = text.split("\\0\\0");
        InputPartition[] found = new InputPartition[tasks.length];
        for (int i = 0; i < tasks.length; i++) found[i] = new FilePartition(i, files(tasks[i].split("\\0")));
        return found;
    }

    private static PartitionedFile[] files(String[] words) {
        List found = new ArrayList();
        for (int i = 0; i + 3 < words.length; i += 4) {
            SparkPath path = SparkPath.fromPath(new Path(words[i]));
            long start = Long.parseLong(words[i + 1]), length = Long.parseLong(words[i + 2]);
            found.add(new PartitionedFile(InternalRow.empty(), path, start, length, new String[0], 0L,
                Long.parseLong(words[i + 3]), scala.collection.immutable.Map$.MODULE$.empty()));
        }
        return (PartitionedFile[]) found.toArray(new PartitionedFile[0]);
    }
}
"""


@dataclass(frozen=True)
class AskedStream:
    """A stream that Spark asks for.

    Attributes:
        options: with which the table is streamed, its path among them.
        shown: the columns.
        settings: of the session; None: Spark's own reader must read nothing.
        checkpoint: where Spark lets the source keep what it likes. Nothing is kept there.
    """

    options: Mapping[str, str]
    shown: st.StructType
    settings: SessionSettings | None
    checkpoint: str


def plans_stream(objects: JvmObjects) -> bool:
    """True if Spark builds a scan to make a stream of it, and not to read a state.

    The thread of a stream plans reads of states too, of what the stream is joined with. Where this Spark makes streams
    in another way, the answer is False: a scan of a state answers for a stream as well.
    """
    if not objects.keeps_threads:
        return False
    name = str(objects.static("java.lang.Thread.currentThread")().getName())
    return name.startswith(_THREAD) and objects.is_called_by(_PLANNER)


def stream_scan(objects: JvmObjects, target: Any, shown: st.StructType, description: str) -> Java:
    """A scan that is a stream and nothing else: no state is planned for it.

    Args:
        target: answers ``toMicroBatchStream``.
    """
    constants = {"readSchema": struct_of(objects, shown), "description": description}
    return objects.make([_READ + "Scan"], target, constants, f"{description}, a stream {uuid.uuid4()}")


def micro_batch_stream(of: NamedTable, asked: AskedStream) -> Java:
    """The stream of a table; if this Spark lacks a class that ours is made with, that of the Python data source.

    Raises:
        PaimonError: the table cannot be streamed with the options.
    """
    objects = of.objects
    if not objects.kept("has streams", lambda: _has_classes(objects)):
        schema = struct_of(objects, asked.shown)
        return source_stream(of.session.spark, objects, schema, asked.options, asked.checkpoint)
    reader = PaimonStreamReader(CaseInsensitiveDict(asked.options), asked.shown)
    limits, limit = reader.planned.settings.limits, objects.static(_LIMITS)
    most = limit.maxFiles(limits.files or _MOST_FILES) if limits.any_set else limit.allAvailable()
    constants = {"getDefaultReadLimit": most, "commit": None, "stop": None}
    return objects.make(_KINDS, StreamCalls(of, asked, reader), constants, f"{of.description}, stream {uuid.uuid4()}")


def _has_classes(objects: JvmObjects) -> bool:
    try:
        for name in (*_KINDS, _OFFSET, _ALL, _LIMITS):
            objects.type(name)
    except Py4JError:
        return False
    return True


class StreamCalls:
    """Answers for a stream, in the thread of its query.

    ``commit`` has no answer here: see PaimonStreamReader. Spark holds this object as long as it holds the query, so it
    holds no session (see ``sessions``).
    """

    def __init__(self, of: NamedTable, asked: AskedStream, reader: PaimonStreamReader) -> None:
        self._of = of
        self._asked = asked
        self._reader = reader
        self._limited = reader.planned.settings.limits.any_set
        self._settings = asked.settings if may_read_natively(reader.planned) else None
        self._is_native = self._settings is not None  # who reads the micro-batch that was planned last

    def initialOffset(self) -> Java:
        return self._offset(self._reader.initialOffset())

    def deserializeOffset(self, text: str) -> Java:
        return self._of.objects.static(_OFFSET)(text)

    def prepareForTriggerAvailableNow(self) -> None:
        self._reader.prepareForTriggerAvailableNow()

    def latestOffset(self, start: Java, limit: Java) -> Java:
        begin = json.loads(start.json())
        end = self._reader.latestOffset(begin, self._limit(limit))
        return start if end is begin else self._offset(end)

    def reportLatestOffset(self) -> Java:
        found = self._reader.reportLatestOffset()
        return None if found is None else self._offset(found)

    def planInputPartitions(self, start: Java, end: Java) -> Java:
        units = self._reader.units(json.loads(start.json()), json.loads(end.json()))
        parts = self._native_parts(units)
        self._is_native = parts is not None
        if parts is not None:
            return self._files.partitions(_text_of(parts))
        return python_partitions(self._of.objects, map(UnitPartition, self._reader.planned.tasks(units)))

    def createReaderFactory(self) -> Java:
        """Spark asks for it with each micro-batch, when that has been planned."""
        return self._factory_of_files if self._is_native else self._factory_of_python

    def _offset(self, values: Mapping[str, Any]) -> Java:
        return self._of.objects.static(_OFFSET)(json.dumps(values))

    def _limit(self, limit: Java) -> ReadLimit | None:
        is_all = self._limited and self._of.objects.type(_ALL).isInstance(limit)
        return ReadAllAvailable() if is_all else None

    def _native_parts(self, units: Sequence[StreamUnit]) -> list[list[FilePart]] | None:
        if self._settings is None or self._files is None:
            return None
        spark, read = self._of.session.spark, self._reader.planned
        return native_parts(spark, read, self._asked.shown, self._settings, units, part_sizes(spark))

    @cached_property
    def _files(self) -> Java:
        """Makes partitions of files; None: this Spark has other classes for that."""
        try:
            return self._of.objects.compiled(_FILES, _FILES_SOURCE)
        except Py4JError:
            _log.debug("this Spark has other classes for parts of files", exc_info=True)
            return None

    @cached_property
    def _factory_of_files(self) -> Java:
        scan = parquet_scan(self._of.session.spark, self._of.objects, (), self._asked.shown, AS_WRITTEN, ())
        return scan.toBatch().createReaderFactory()

    @cached_property
    def _factory_of_python(self) -> Java:
        of, source = self._of, PaimonDataSource({})
        return python_batch(of.session.spark, of.objects, self._reader, source, self._asked.shown)[1]


def _text_of(tasks: Iterable[Iterable[FilePart]]) -> str:
    """Files as PaimonStreamFiles takes them: no path has a character 0."""
    return "\0\0".join("\0".join(f"{p.path}\0{p.start}\0{p.length}\0{p.size}" for p in parts) for parts in tasks)
