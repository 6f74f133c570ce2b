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

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession
from pyspark.sql import types as st
from pyspark.sql.datasource import CaseInsensitiveDict

from paimon_spark.spark.native.parquet_scan import AS_WRITTEN
from paimon_spark.spark.native.session_settings import SessionSettings
from paimon_spark.spark.native.stream_files import FilePart, PartSizes, may_read_natively, native_parts
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.spark_catalog.jvm_objects import Java
from paimon_spark.spark.spark_catalog.sessions import NamedTable
from paimon_spark.spark.spark_catalog.spark_internals import (
    parquet_scan,
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
_MOST_FILES = 2**31 - 1
_lacking: set[str] = set()  # classes that Spark cannot compile, of which the user was told
_NAME = "PaimonStreams"
_SOURCE = """
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.apache.spark.sql.execution.datasources.FilePartition;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.execution.datasources.v2.python.PythonStreamingSourceOffset;

public class PaimonStreams {
    public MicroBatchStream make(BiFunction python, ReadLimit limit, String text) {
        return new Stream(python, limit, text);
    }

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

    public static class Stream implements MicroBatchStream, SupportsTriggerAvailableNow {
        private final BiFunction python;
        private final ReadLimit limit;
        private final String text;
        private String reported = "";

        Stream(BiFunction python, ReadLimit limit, String text) {
            this.python = python;
            this.limit = limit;
            this.text = text;
        }

        public ReadLimit getDefaultReadLimit() { return limit; }
        public Offset deserializeOffset(String json) { return new PythonStreamingSourceOffset(json); }
        public Offset initialOffset() { return new PythonStreamingSourceOffset((String) asked("0 first", null)); }
        public void prepareForTriggerAvailableNow() { asked("0 stop_at_latest", null); }
        public Offset latestOffset() { throw new UnsupportedOperationException("latestOffset without a start"); }
        public void commit(Offset end) {}
        public void stop() {}
        public String toString() { return text; }

        public Offset latestOffset(Offset start, ReadLimit limit) {
            String from = start.json();
            String call = limit instanceof ReadAllAvailable ? "1 last" : "1 next";
            String[] offsets = ((String) asked(call, from)).split("\\n");
            reported = offsets[1];
            return offsets[0].isEmpty() ? start : new PythonStreamingSourceOffset(offsets[0]);
        }

        public Offset reportLatestOffset() {
            return reported.isEmpty() ? null : new PythonStreamingSourceOffset(reported);
        }

        public InputPartition[] planInputPartitions(Offset start, Offset end) {
            return (InputPartition[]) asked("1 partitions", start.json() + "\\n" + end.json());
        }

        public PartitionReaderFactory createReaderFactory() {
            return (PartitionReaderFactory) asked("0 factory", null);
        }

        private Object asked(String call, Object argument) {
            Object answer = python.apply(call, argument);
            if (answer instanceof RuntimeException) throw (RuntimeException) answer;
            if (answer instanceof Throwable) throw new RuntimeException((Throwable) answer);
            return answer;
        }
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


def micro_batch_stream(of: NamedTable, asked: AskedStream) -> Java:
    """The stream of a table; if this Spark lacks a class that ours is made with, that of the Python data source.

    Raises:
        PaimonError: the table cannot be streamed with the options.
    """
    objects = of.objects
    try:
        streams = objects.compiled(_NAME, _SOURCE)
    except Py4JError as error:
        if _NAME not in _lacking:
            _lacking.add(_NAME)
            _log.warning(
                "streams by name are read as those by path, with a Python process of their own on the driver: this "
                "Spark lacks a class that they are made with (%s)",
                getattr(error, "java_exception", error),
            )
        _log.debug("streams by name are read as those by path", exc_info=True)
        schema = struct_of(objects, asked.shown)
        return source_stream(of.session.spark, objects, schema, asked.options, asked.checkpoint)
    reader = PaimonStreamReader(CaseInsensitiveDict(asked.options), asked.shown)
    limits, limit = reader.planned.settings.limits, objects.static(_STREAMING + "ReadLimit")
    most = limit.maxFiles(limits.files or _MOST_FILES) if limits.any_set else limit.allAvailable()
    calls = StreamCalls(of, asked, reader, streams)
    return streams.make(objects.function(calls), most, f"{of.description}, stream {uuid.uuid4()}")


class StreamCalls:
    """Answers for a stream, in the thread of its query. Offsets are texts of JSON.

    Spark holds this object as long as it holds the query, so it holds no session (see ``sessions``).
    """

    def __init__(self, of: NamedTable, asked: AskedStream, reader: PaimonStreamReader, streams: Java) -> None:
        """
        Args:
            streams: the object of PaimonStreams.
        """
        self._of = of
        self._shown = asked.shown
        self._reader = reader
        self._streams = streams
        self._settings = asked.settings if may_read_natively(reader.planned) else None
        self._is_native = self._settings is not None  # who reads the micro-batch that was planned last

    def first(self) -> str:
        return json.dumps(self._reader.initialOffset())

    def stop_at_latest(self) -> None:
        self._reader.prepareForTriggerAvailableNow()

    def next(self, start: str) -> str:
        """The end of the next micro-batch, which is empty if it is the start, and on a second line the offset after all
        that is there: Spark asks for both, each time that it looks."""
        return self._latest(start, None)

    def last(self, start: str) -> str:
        """The same for a micro-batch of all that there is, whatever the limits are."""
        return self._latest(start, ReadAllAvailable())

    def partitions(self, offsets: str) -> Java:
        """The partitions of a micro-batch.

        Args:
            offsets: its start and its end, a line each.
        """
        start, end = map(json.loads, offsets.split("\n"))
        units = self._reader.units(start, end)
        parts = self._native_parts(units)
        self._is_native = parts is not None
        if parts is not None:
            return self._streams.partitions(_text_of(parts))
        return python_partitions(self._of.objects, map(UnitPartition, self._reader.planned.tasks(units)))

    def factory(self) -> Java:
        """The readers of the partitions that were planned last: Spark asks for them with each micro-batch."""
        return self._factory_of_files if self._is_native else self._factory_of_python

    def _latest(self, start: str, limit: ReadLimit | None) -> str:
        begin = json.loads(start)
        end, reported = self._reader.latestOffset(begin, limit), self._reader.reportLatestOffset()
        return f"{'' if end is begin else json.dumps(end)}\n{json.dumps(reported)}"

    def _native_parts(self, units: Sequence[StreamUnit]) -> list[list[FilePart]] | None:
        if self._settings is None:
            return None
        spark, read = self._of.session.spark, self._reader.planned
        return native_parts(spark, read, self._shown, self._settings, units, _part_sizes(spark))

    @cached_property
    def _factory_of_files(self) -> Java:
        scan = parquet_scan(self._of.session.spark, self._of.objects, (), self._shown, AS_WRITTEN, ())
        return scan.toBatch().createReaderFactory()

    @cached_property
    def _factory_of_python(self) -> Java:
        of, source = self._of, PaimonDataSource({})
        return python_batch(of.session.spark, of.objects, self._reader, source, self._shown)[1]


def _text_of(tasks: Iterable[Iterable[FilePart]]) -> str:
    """Files as PaimonStreams takes them: no path has a character 0."""
    return "\0\0".join("\0".join(f"{p.path}\0{p.start}\0{p.length}\0{p.size}" for p in parts) for parts in tasks)


def _part_sizes(spark: SparkSession) -> PartSizes:
    """How Spark divides files among tasks in a session."""
    session = spark._jsparkSession
    conf = session.sessionState().conf()
    least = conf.filesMinPartitionNum()
    tasks = least.get() if least.isDefined() else session.leafNodeDefaultParallelism()
    return PartSizes(conf.filesMaxPartitionBytes(), conf.filesOpenCostInBytes(), tasks)
