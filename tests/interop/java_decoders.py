"""The decoders of Java Paimon's CDC jobs, which need neither Flink's cluster nor Kafka: in a process of their own.

The last release whose jar a registry has with them is 1.0.1; the rules that are compared are the same in 2.0.0.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.managers import BaseManager
from typing import Any

import jpype
from genuine import KINDS, SUPPORT_JARS, java_call
from genuine_jars import java_jar, spark_jars
from genuine_values import codec

JARS = (
    "org.apache.paimon:paimon-flink-1.20:1.0.1",
    "org.apache.flink:flink-core:1.20.0",
    "org.apache.flink:flink-core-api:1.20.0",
    "io.debezium:debezium-core:1.9.8.Final",
    "com.esri.geometry:esri-geometry-api:2.2.0",
    "org.apache.avro:avro:1.11.4",
)
PARSERS = {
    "debezium-json": "debezium.DebeziumJsonRecordParser",
    "canal-json": "canal.CanalRecordParser",
    "maxwell-json": "maxwell.MaxwellRecordParser",
    "ogg-json": "ogg.OggRecordParser",
    "aws-dms-json": "dms.DMSRecordParser",
}
Decoded = tuple[str, tuple[Any, ...]]
"""The kind of a row, and its values as genuine_values has them."""


class JavaDecoders:
    """Java's parsers of messages, by the name of their format."""

    def __init__(self) -> None:
        if not jpype.isJVMStarted():
            jars = [*(str(java_jar(coordinate)) for coordinate in JARS), *spark_jars(*SUPPORT_JARS)]
            jpype.startJVM(
                "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-Duser.timezone=UTC", classpath=jars
            )
        self._cdc = jpype.JPackage("org.apache.paimon.flink.action.cdc")
        self._sink = jpype.JPackage("org.apache.paimon.flink.sink.cdc")
        shaded = "org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper"
        self._mapper = jpype.JClass(shaded)()

    @java_call
    def types(self, format_name: str, message: str) -> dict[str, str]:
        """The types that Java tells for the columns of a message."""
        (record, *_) = self._records(format_name, message)
        return {str(field.name()): str(field.type().copy(True).asSQLString()) for field in record.fields()}

    @java_call
    def place(self, format_name: str, message: str) -> tuple[str | None, str | None, tuple[str, ...]]:
        """The database, the table and the key that Java tells for a message."""
        (record, *_) = self._records(format_name, message)
        names = [None if name is None else str(name) for name in (record.databaseName(), record.tableName())]
        return names[0], names[1], tuple(str(key) for key in record.primaryKeys())

    @java_call
    def decode(self, format_name: str, types: Mapping[str, str], messages: Sequence[str]) -> list[list[Decoded] | None]:
        """The rows of each message in columns of these types; None where Java fails, or finds no value for a column."""
        parse = jpype.JClass("org.apache.paimon.types.DataTypeJsonParser").parseAtomicTypeSQLString
        field = jpype.JClass("org.apache.paimon.types.DataField")
        fields = jpype.java.util.ArrayList()
        for number, (name, text) in enumerate(types.items()):
            fields.add(field(number, name, parse(text)))
        return [self._rows(format_name, fields, message) for message in messages]

    def _rows(self, format_name: str, fields: Any, message: str) -> list[Decoded] | None:
        codecs = [codec(each.type()) for each in fields]
        found: list[Decoded] = []
        try:
            for record in self._records(format_name, message):
                change = record.toRichCdcRecord().toCdcRecord()
                row = self._sink.CdcRecordUtils.toGenericRow(change, fields)
                if not row.isPresent():
                    return None
                values = tuple(each.decode(row.get(), i) for i, each in enumerate(codecs))
                found.append((KINDS[int(change.kind().toByteValue())], values))
        except jpype.JException:
            return None
        return found

    def _records(self, format_name: str, message: str) -> list[Any]:
        parser_class = jpype.JClass(f"org.apache.paimon.flink.action.cdc.format.{PARSERS[format_name]}")
        parser = parser_class(self._cdc.TypeMapping.defaultMapping(), jpype.java.util.Collections.emptyList())
        found: list[Any] = []
        collector = jpype.JProxy(
            "org.apache.flink.util.Collector", dict={"collect": found.append, "close": lambda: None}
        )
        parser.flatMap(self._cdc.CdcSourceRecord(self._mapper.readTree(message)), collector)
        return found


class _Server(BaseManager):
    pass


_Server.register("JavaDecoders", JavaDecoders)


@contextmanager
def java_decoders() -> Iterator[JavaDecoders]:
    """A child process that serves the parsers.

    Raises:
        JavaUnavailable: a jar cannot be resolved.
    """
    for coordinate in JARS:
        java_jar(coordinate)
    with _Server(ctx=multiprocessing.get_context("spawn")) as server:
        yield server.JavaDecoders()  # type: ignore[attr-defined]  # made by register
