"""Messages as the batches that Spark's source of Kafka hands over."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from support.change_messages.encoders import Message, dumps


def message_batch(messages: Sequence[Message], first: int = 0) -> pa.RecordBatch:
    """A batch of one partition of a topic."""
    count = len(messages)
    return pa.record_batch(
        {
            "key": pa.array([None if key is None else key.encode() for key, _ in messages], pa.binary()),
            "value": pa.array([None if value is None else value.encode() for _, value in messages], pa.binary()),
            "topic": pa.array(["shop.orders"] * count, pa.string()),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(first, first + count), pa.int64()),
            "timestamp": pa.array([1700000000000 + first + i for i in range(count)], pa.timestamp("ms", "UTC")),
        }
    )


def values_batch(*values: Any) -> pa.RecordBatch:
    """A batch of messages without keys: texts as they are, other values as JSON."""
    return message_batch([(None, v if v is None or isinstance(v, str) else dumps(v)) for v in values])


def cut_batches(messages: Sequence[Message], draws: random.Random) -> list[pa.RecordBatch]:
    """All messages, cut at random places."""
    batches, start = [], 0
    while start < len(messages):
        size = draws.randint(1, 25)
        batches.append(message_batch(messages[start : start + size], start))
        start += size
    return batches
