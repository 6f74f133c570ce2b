"""A stream into a table that is to be killed: ``killed_stream.py EVENTS TABLE CHECKPOINT [POINT]``.

It tells on its output the process id of its JVM, and then each batch that has ended. It ends when all events are in the
table. A POINT is where the process that commits kills the JVM and itself (``kill -9``), in the second batch that it
commits: ``before-note``, ``before-snapshot``, ``after-snapshot``, ``before-done`` (K2 to K5).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from paimon_spark.file_io import LocalFileIO
from paimon_spark.spark.source.source import PaimonDataSource
from paimon_spark.spark.stream_sink.writer import PaimonStreamWriter


class BatchPrinter(StreamingQueryListener):
    """Tells each batch."""

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        print(f"batch {event.progress.batchId}", flush=True)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None: ...


def mortal(point: str, jvm: int) -> type[PaimonDataSource]:
    """The data source, whose commit process kills the JVM; Spark pickles it into its processes."""

    class MortalWriter(PaimonStreamWriter):
        def commit(self, messages: Any, batchId: int) -> None:
            if batchId:
                die_at(point, jvm)
            super().commit(messages, batchId)

    class Mortal(PaimonDataSource):
        def streamWriter(self, schema: Any, overwrite: bool) -> PaimonStreamWriter:
            made = super().streamWriter(schema, overwrite)
            assert isinstance(made, PaimonStreamWriter)
            return MortalWriter(made._job, made._options)

    return Mortal


def die_at(point: str, jvm: int) -> None:
    """Changes how this process writes: at the point it kills the JVM and itself."""
    overwrite, create = LocalFileIO.overwrite, LocalFileIO.create_if_absent

    def kill() -> None:
        os.kill(jvm, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def noted(self: LocalFileIO, path: str, data: bytes) -> None:
        is_note, is_done = "/stream-sink/" in path, b'"committed"' in data
        if is_note and ((point == "before-note" and not is_done) or (point == "before-done" and is_done)):
            kill()
        overwrite(self, path, data)

    def published(self: LocalFileIO, path: str, data: bytes) -> bool:
        is_snapshot = "/snapshot/snapshot-" in path
        if is_snapshot and point == "before-snapshot":
            kill()
        made = create(self, path, data)
        if is_snapshot and point == "after-snapshot":
            kill()
        return made

    LocalFileIO.overwrite = noted  # type: ignore[method-assign]
    LocalFileIO.create_if_absent = published  # type: ignore[method-assign]


def main(events: str, table: str, checkpoint: str, point: str = "") -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "1g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # not on Connect
    print(f"jvm {jvm}", flush=True)
    spark.streams.addListener(BatchPrinter())
    spark.dataSource.register(mortal(point, jvm) if point else PaimonDataSource)
    stream = spark.readStream.schema("id int, v long").option("maxFilesPerTrigger", "1").json(events)
    writer = stream.repartition(2).writeStream.format("paimon").option("checkpointLocation", checkpoint)
    keyed = {"primary-key": "id", "bucket": "1", "merge-engine": "aggregation", "fields.v.aggregate-function": "sum"}
    writer.options(**keyed).trigger(availableNow=True).start(table).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
