"""A process that brings the changes of tables into copies by streams, each batch once."""

from __future__ import annotations

import time

from paimon_spark.errors import CommitStateUnknown, RowsNotVisible
from support.soak.process import REFUSED, Process, message_of
from support.soak.tables import KINDS, NAMES

CONSUMER = "copier"
_INTERVAL = 0.3
"""Seconds between two looks at a table."""
_GOES_ON: tuple[type[Exception], ...] = (*REFUSED, CommitStateUnknown, RowsNotVisible)
"""After these the same call goes on behind what is in the copy."""


class Copier(Process):
    """Copies what is new in one table after the other."""

    def step(self) -> None:
        time.sleep(_INTERVAL)
        kind = self.random().choice([kind for kind in KINDS.values() if kind.copied])
        step = self.journal.begin(kind.copy, "stream into a copy")
        try:
            self.copy(kind.name, kind.copy)
        except _GOES_ON as error:
            self.journal.nothing(step, message_of(error))
        else:
            self.journal.done(step)

    def copy(self, name: str, copy: str) -> None:
        """Brings all that a table shows now into its copy."""
        options = {"consumer-id": CONSUMER, "read.stream.maxFilesPerTrigger": "6"}
        source = self.place.open(name).stream(list(NAMES), row_kinds=True, options=options)
        self.place.open(copy).write_stream(source, "copy")
