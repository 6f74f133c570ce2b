"""Admits units until a micro-batch has enough (Java: PaimonReadLimits)."""

from __future__ import annotations

from paimon_spark.store.stream_source.settings import Limits
from paimon_spark.store.stream_source.units import StreamUnit

_MANY = 2**63


class Admission:
    """Counts what a micro-batch takes. A unit is taken as a whole or not at all, and at least one is.

    Args:
        limits: what it takes at most; None: all that there is.
    """

    def __init__(self, limits: Limits | None) -> None:
        self._limits = limits or Limits()
        self.units = self._files = self.rows = self._bytes = 0

    def admit(self, unit: StreamUnit) -> bool:
        """True if the unit belongs to the micro-batch; it is counted then."""
        split, limits = unit.split, self._limits
        files, rows, size = self._files + split.file_count, self.rows + split.row_count, self._bytes + split.size
        fits = files <= (limits.files or _MANY) and rows <= (limits.rows or _MANY) and size <= (limits.bytes or _MANY)
        if self.units and not fits:
            return False
        self.units, self._files, self.rows, self._bytes = self.units + 1, files, rows, size
        return True

    def waits(self, millis_since_last: float) -> bool:
        """True if the rows are too few, and may wait for more.

        Args:
            millis_since_last: since the last micro-batch with rows.
        """
        least, delay = self._limits.least_rows, self._limits.delay
        return least is not None and delay is not None and self.rows < least and millis_since_last < delay
