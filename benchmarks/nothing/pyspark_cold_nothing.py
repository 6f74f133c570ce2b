"""A Python data source that does nothing: what Spark's own processes and imports cost (bench_cold).

Spark finds it by the name of this module, as it finds the data source of this package.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

ROWS = 1000


class NothingReader(DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        return [InputPartition(part) for part in range(2)]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter([(i, "2026-11-01", 0.5) for i in range(partition.value, ROWS, 2)])


class NothingWriter(DataSourceArrowWriter):
    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        del messages

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        del messages


class NothingSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "cold_nothing"

    def schema(self) -> str:
        return "id long, dt string, total double"

    def reader(self, schema: Any) -> NothingReader:
        return NothingReader()

    def writer(self, schema: Any, overwrite: bool) -> NothingWriter:
        return NothingWriter()


DefaultSource = NothingSource
