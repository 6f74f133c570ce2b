"""How much a micro-batch may take, in the words of Spark 4.2 and later; before it, Spark asks for all that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paimon_spark.store.stream_source.settings import Limits

if TYPE_CHECKING:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxFiles, SupportsTriggerAvailableNow
else:
    try:
        from pyspark.sql.streaming.datasource import (
            ReadAllAvailable,
            ReadLimit,
            ReadMaxFiles,
            SupportsTriggerAvailableNow,
        )
    except ImportError:

        class ReadLimit:
            """Stands for the class of Spark 4.2, which Spark 4.1 never hands over."""

        class ReadAllAvailable(ReadLimit): ...

        class ReadMaxFiles(ReadLimit):
            def __init__(self, max_files: int) -> None: ...

        class SupportsTriggerAvailableNow: ...


__all__ = ["ReadLimit", "SupportsTriggerAvailableNow", "default_limit", "holds_limits"]
_MANY = 2**31 - 1


def default_limit(limits: Limits) -> ReadLimit:
    """What Spark hands back with every micro-batch that must keep to limits. It takes one limit only, so that stands
    for all of them."""
    return ReadMaxFiles(limits.files or _MANY) if limits.any_set else ReadAllAvailable()


def holds_limits(limit: ReadLimit | None) -> bool:
    """False if Spark wants all that there is, whatever the options say: Trigger.Once."""
    return not isinstance(limit, ReadAllAvailable)
