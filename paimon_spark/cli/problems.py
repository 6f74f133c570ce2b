"""What the user of a table may want to do something about, from its facts."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow.compute as pc

from paimon_spark.cli.facts import TableView
from paimon_spark.cli.texts import count_text, size_text
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.options.option import MB
from paimon_spark.format.rules.supported import check_writable
from paimon_spark.store.holds.consumer_files import readable_positions
from paimon_spark.store.holds.marks import expiring_below
from paimon_spark.store.holds.tag_holds import tags_being_deleted
from paimon_spark.store.scan.split_plan import merges_postponed, skips_level_zero

_MANY = 10
"""Snapshots that are due, or small files, that are worth a word: fewer come and go by themselves."""
_SMALL = 0.1  # of the size that new files get


def find_problems(view: TableView) -> tuple[str, ...]:
    """In words, the gravest first; each says what helps."""
    return (
        *_refusals(view),
        *_damaged(view),
        *_waiting(view),
        *_small_files(view),
        *_kept_too_long(view),
        *_broken_off(view),
    )


def _refusals(view: TableView) -> Iterator[str]:
    try:
        check_writable(view.table.schema, view.table.settings)
    except UnsupportedFeature as error:
        yield str(error)


def _damaged(view: TableView) -> Iterator[str]:
    """Tags and consumers whose files cannot be read, which the facts leave out."""
    table = view.table
    yield from map(str, table.snapshots.readable_tags()[1])
    yield from map(str, readable_positions(table.file_io, table.location, table.branch)[1])


def _waiting(view: TableView) -> Iterator[str]:
    facts = view.facts
    stored = facts.stored
    fresh = next((level for level in stored.levels if level.level == 0), None)
    if stored.postponed_files:
        files = count_text(stored.postponed_files, "file")
        reads = "each read sorts them" if merges_postponed(view.table.settings) else "readers do not see them"
        yield f"{files} of {count_text(stored.postponed_rows, 'row')} wait for a bucket: compact the table, {reads}"
    if fresh is not None and skips_level_zero(view.table.settings):
        yield f"{count_text(fresh.rows, 'row')} in level 0 are not visible to readers yet: compact the table"
    if stored.crowded_buckets:
        crowded = f"{facts.trigger} sorted runs or more in {count_text(stored.crowded_buckets, 'bucket')}"
        helps = "the next write to them compacts, or a compaction now"
        if view.table.settings.write_only:
            helps = "the table is write-only, so that nobody compacts it but a job of its own: run one regularly"
        yield f"{crowded}, {stored.most_runs} at most, which reads have to merge: {helps}"


def _small_files(view: TableView) -> Iterator[str]:
    if view.facts.primary_keys:
        return
    limit = (view.table.settings.files.target_size or 256 * MB) * _SMALL
    small = pc.sum(pc.less(view.sizes, limit)).as_py() or 0
    if small >= _MANY * max(1, view.facts.stored.partitions):
        yield f"{small:,} of {view.facts.stored.files:,} files are smaller than {size_text(limit)}: compact the table"


def _kept_too_long(view: TableView) -> Iterator[str]:
    facts = view.facts
    due = facts.retention.due
    if due < _MANY:
        return
    late = f"{count_text(due, 'snapshot')} are older than the retention and still there"
    holding = {
        name: lag.next_snapshot
        for name, lag in facts.consumers.items()
        if facts.first and lag.next_snapshot < facts.first.id + due
    }
    if holding:
        name = min(holding, key=holding.__getitem__)
        yield (
            f"{late}: the consumer '{name}' reads snapshot {holding[name]} next and holds them; let it read on, delete "
            "it, or set consumer.expiration-time"
        )
    elif not facts.retention.by_writers:
        yield f"{late}: the table is write-only, so that compactions expire them, or the command expire"
    else:
        yield f"{late}: the next commit expires some, or the command expire all"


def _broken_off(view: TableView) -> Iterator[str]:
    store = view.table.snapshots
    end = expiring_below(store)
    if end is not None:
        yield f"an expiry of the snapshots below {end} is under way, or broke off: the next one finishes it"
    names = sorted(tags_being_deleted(store))
    if names:
        yield f"the deletion of {', '.join(names)} is under way, or broke off: delete-tag finishes it"
