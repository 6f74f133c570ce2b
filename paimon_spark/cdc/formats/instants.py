"""Points in time as messages write them, outside of rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from paimon_spark.cdc.errors import MalformedMessage


def epoch_millis(value: Any, name: str) -> int | None:
    """A time in ISO form, in UTC where it names no zone, as milliseconds since the epoch; None stays None.

    Raises:
        MalformedMessage: it is something else.
    """
    if value is None:
        return None
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise MalformedMessage(f"'{name}' is {value!r:.80}, expected a time such as 2026-11-01T12:00:00Z") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
