"""What follows a commit, a tag, an expiry or a rollback in the Iceberg metadata of a table, if it has any.

Java: IcebergCommitCallback, which is a commit callback and a tag callback.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from paimon_spark.format.manifest import IndexManifestEntry, ManifestEntry
from paimon_spark.format.rules.iceberg_tables import iceberg_place
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.store.metadata.table import Table

_log = logging.getLogger(__name__)


def after_commit(
    table: Table, snapshot: Snapshot, changes: tuple[Sequence[ManifestEntry], Sequence[IndexManifestEntry]] | None
) -> None:
    """Publishes the Iceberg metadata of a snapshot that was committed.

    Args:
        table: with the options of the write.
        snapshot: the new one, or one that an earlier try has made.
        changes: its data files and index files; None: they are to be read.
    """
    if iceberg_place(table.settings) is not None:
        with _logged(table):
            from paimon_spark.store.iceberg.publish import publish_commit

            publish_commit(table, snapshot, changes)


def after_tags(table: Table) -> None:
    """Tells the Iceberg metadata of the tags and snapshots that the table has now."""
    if iceberg_place(table.settings) is not None:
        with _logged(table):
            from paimon_spark.store.iceberg.publish import refresh

            refresh(table)


def after_rollback(table: Table) -> None:
    """Publishes the Iceberg metadata of the latest snapshot, after those above it were taken away."""
    if iceberg_place(table.settings) is not None:
        with _logged(table):
            from paimon_spark.store.iceberg.publish import republish

            republish(table)


@contextmanager
def _logged(table: Table) -> Iterator[None]:
    """Whatever went wrong: the rows are there for readers of Paimon, and the next commit makes the metadata anew."""
    try:
        yield
    except Exception as error:
        _log.warning(
            "%s is changed, but its Iceberg metadata are not: its readers see an older state until the next commit, "
            "which makes them anew: %s",
            table.location,
            error,
        )
