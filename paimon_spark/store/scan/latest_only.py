"""Refuses time travel in calls that work on the latest snapshot."""

from __future__ import annotations

from paimon_spark.errors import OptionError
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.time_travel import TIME_TRAVEL_OPTIONS


def refuse_travel(table: Table, done: str) -> None:
    """Raises OptionError if an option of the call chooses a snapshot; done is the participle of what the call does."""
    stored = TableSettings(table.schema.options)
    travel = [option.key for option in TIME_TRAVEL_OPTIONS if table.settings.text(option) != stored.text(option)]
    if travel:
        raise OptionError(f"'{travel[0]}' chooses what a read sees; the latest snapshot is {done}: leave it out")
