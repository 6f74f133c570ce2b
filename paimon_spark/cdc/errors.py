"""What is wrong with one message."""

from __future__ import annotations

from paimon_spark.errors import DataError


class MalformedMessage(DataError):
    """A message is not what its format says: mend its producer, or give the option that keeps such messages apart."""
