"""The messages of a batch, read: what each says, or what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.events import Event, Ignored, MalformedMessage, Reader
from paimon_spark.errors import DataError

MESSAGE_COLUMNS = ("value", "key", "topic", "partition", "offset", "timestamp")
"""What a source of messages tells, by the names of Spark's Kafka source; all but the value may be missing."""


@dataclass(frozen=True)
class Messages:
    """A batch of messages.

    Attributes:
        batch: with the columns of MESSAGE_COLUMNS that the source has.
        said: what each message says; None where it is malformed or ignored.
        ignored: what a message is that changes no row, by its number.
        problems: what is wrong with a message, by its number.
    """

    batch: pa.RecordBatch
    said: Sequence[Event | None]
    ignored: dict[int, Ignored]
    problems: dict[int, str]

    def texts(self, name: str) -> list[str | None]:
        """A column of texts or bytes as texts; bytes that are not UTF-8 show replacement characters."""
        return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in self.values(name)]

    def values(self, name: str) -> list[Any]:
        if name not in self.batch.schema.names:
            return [None] * self.batch.num_rows
        found: list[Any] = self.batch.column(name).to_pylist()
        return found

    def failure(self, number: int, problem: str) -> DataError:
        """The error for a message that is not kept as a dead letter."""
        value = self.texts("value")[number]
        return DataError(
            f"the message {self._place(number)} cannot be decoded: {problem}. It begins with {value!r:.200}. Mend its "
            "producer, or keep such messages apart with dead letters (dead_letters=)"
        )

    def _place(self, number: int) -> str:
        place = {name: self.values(name)[number] for name in ("topic", "partition", "offset")}
        named = ", ".join(f"{name} {value}" for name, value in place.items() if value is not None)
        return f"of {named}" if named else f"{number} of its batch"


def read_messages(batch: pa.RecordBatch, decoding: Decoding, reader: Reader) -> Messages:
    """Reads the messages of a batch.

    Raises:
        DataError: the batch has no column of values.
    """
    if "value" not in batch.schema.names:
        raise DataError(f"messages have a column 'value', found {', '.join(batch.schema.names)}")
    values = _texts(batch.column("value"))
    keys = _texts(batch.column("key")) if "key" in batch.schema.names else [None] * batch.num_rows
    said: list[Event | None] = []
    ignored: dict[int, Ignored] = {}
    problems: dict[int, str] = {}
    for number, (value, key) in enumerate(zip(values, keys, strict=True)):
        try:
            event = _event(value, key, reader)
        except MalformedMessage as error:
            problems[number] = str(error)
            said.append(None)
            continue
        if isinstance(event, Ignored):
            if event.kind not in decoding.ignored:
                problems[number] = (
                    f"it says that the source was changed by '{event.kind}' ({event.detail}), which no row can say: "
                    f"do the same here, and let the message pass with ignore=['{event.kind}']"
                )
            ignored[number] = event
            said.append(None)
        else:
            said.append(event)
    return Messages(batch, said, ignored, problems)


def _event(value: str | bytes | None, key: str | bytes | None, reader: Reader) -> Event | Ignored:
    if value is None:
        return Ignored("tombstone")
    if isinstance(value, bytes) or isinstance(key, bytes):
        raise MalformedMessage("it is not UTF-8")
    return reader.read(value, key)


def _texts(column: pa.Array) -> list[Any]:
    """The texts; where some are not UTF-8, those as bytes."""
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        found: list[Any] = column.to_pylist()
        return found
    try:
        texts: list[Any] = column.cast(pa.string()).to_pylist()
    except pa.ArrowInvalid:
        return list(map(_text_or_bytes, column.to_pylist()))
    return texts


def _text_or_bytes(value: bytes | None) -> Any:
    try:
        return None if value is None else value.decode("utf-8")
    except UnicodeDecodeError:
        return value
