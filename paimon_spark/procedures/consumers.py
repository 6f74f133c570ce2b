"""Consumers: moved and forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from paimon_spark.errors import OptionError
from paimon_spark.procedures.engine import Engine
from paimon_spark.procedures.procedure import TABLE, Argument, DryRun, Procedure
from paimon_spark.store.history.consumers import ClearConsumersResult, clear_consumers, reset_consumer
from paimon_spark.store.holds.consumer_files import consumer_files
from paimon_spark.store.metadata.table import Table


@dataclass(frozen=True)
class ResetConsumer(Procedure[None]):
    """Lets a consumer go on with another snapshot, or forgets it.

    Raises:
        OptionError: the id is none, or there is no such consumer to forget.
        SnapshotNotFound: there is no such snapshot, or it is expiring just now; the consumer is where it was.
    """

    official = (TABLE, "consumerId", "nextSnapshotId")

    consumer: Annotated[str, Argument("the id of the consumer; it may be a new one.", sql="consumerId")]
    next_snapshot: Annotated[
        int | None,
        Argument("the id of the snapshot that it reads next; else the consumer is deleted.", sql="nextSnapshotId"),
    ] = None

    def perform(self, table: Table, engine: Engine) -> None:
        if not reset_consumer(table, self.consumer, self.next_snapshot):
            names = ", ".join(sorted(consumer_files(table.file_io, table.location, table.branch)))
            raise OptionError(
                f"deleting the consumer '{self.consumer}' of {table.location}: there is no such consumer; there "
                f"{'are ' + names if names else 'is none'}",
                arguments=("consumer",),
            )


@dataclass(frozen=True)
class ClearConsumers(Procedure[ClearConsumersResult]):
    """Deletes the consumers whose whole id matches a pattern. In SQL the result is false if none does.

    Raises:
        OptionError: a pattern is none.
    """

    official = (TABLE, "includingConsumers", "excludingConsumers")

    including: Annotated[
        str | None, Argument("a regular expression; without it all are meant.", sql="includingConsumers")
    ] = None
    excluding: Annotated[
        str | None, Argument("a regular expression; the consumers that it matches stay.", sql="excludingConsumers")
    ] = None
    dry_run: DryRun = False

    def perform(self, table: Table, engine: Engine) -> ClearConsumersResult:
        return clear_consumers(table, self.including, self.excluding, self.dry_run)
