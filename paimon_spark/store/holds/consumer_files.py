"""The positions of the consumers of a table, and how far each is behind (format section 3.5; Java: ConsumerManager)."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.json_text import parse_json_object
from paimon_spark.format.paths import CONSUMER_PREFIX, MAIN_BRANCH, consumer_directory
from paimon_spark.store.metadata.snapshots import SnapshotStore
from paimon_spark.store.storage.files import find_bytes, list_named, with_way_out
from paimon_spark.store.storage.local_time import now_millis
from paimon_spark.store.storage.parallel import map_parallel

_COUNTED = 1000  # snapshots whose rows are counted


def consumer_files(file_io: FileIO, table: str, branch: str = MAIN_BRANCH) -> dict[str, FileStatus]:
    """The files of the consumers of a branch, by their ids."""
    return list_named(file_io, consumer_directory(table, branch), CONSUMER_PREFIX)


def consumer_position(file_io: FileIO, path: str) -> int | None:
    """The id of the snapshot that one consumer reads next, None if its file does not exist.

    Raises:
        CorruptFile: the file of the consumer is damaged.
    """
    data = find_bytes(file_io, path)
    if data is None:
        return None
    with with_way_out(
        "restore the file from a backup, set the consumer anew (CALL sys.reset_consumer, PaimonTable.reset_consumer), "
        "or delete the file: its stream then begins as a new one does"
    ):
        return parse_json_object(data, path).integer("nextSnapshot")


def consumer_positions(file_io: FileIO, table: str, branch: str = MAIN_BRANCH) -> dict[str, int]:
    """For each consumer the id of the snapshot that it reads next.

    Raises:
        CorruptFile: the file of a consumer is damaged.
    """
    positions, damaged = readable_positions(file_io, table, branch)
    if damaged:
        raise damaged[0]
    return positions


def readable_positions(
    file_io: FileIO, table: str, branch: str = MAIN_BRANCH
) -> tuple[dict[str, int], list[CorruptFile]]:
    """The consumers as consumer_positions gives them, and an error for each whose file is damaged."""
    paths = {name: status.path for name, status in consumer_files(file_io, table, branch).items()}

    def find(path: str) -> int | CorruptFile | None:
        try:
            return consumer_position(file_io, path)
        except CorruptFile as error:
            return error

    found = dict(zip(paths, map_parallel(find, paths.values()), strict=True))  # None: deleted since the listing
    positions = {name: position for name, position in found.items() if isinstance(position, int)}
    return positions, [error for error in found.values() if isinstance(error, CorruptFile)]


@dataclass(frozen=True)
class ConsumerLag:
    """What a consumer has not read.

    Attributes:
        next_snapshot: the id of the snapshot that it reads next.
        snapshots: how many there are from that on.
        rows: that these snapshots wrote, as their changelogs or new files have them; None: too many to count, or some
            have expired.
        millis: since the first of them was committed; 0 if there is none; None if it has expired.
    """

    next_snapshot: int
    snapshots: int
    rows: int | None
    millis: int | None


def consumer_lag(store: SnapshotStore, next_snapshot: int) -> ConsumerLag:
    """How far a consumer that reads this snapshot next is behind."""
    behind = max((store.latest_id() or 0) - next_snapshot + 1, 0)
    if not behind:
        return ConsumerLag(next_snapshot, 0, 0, 0)
    first = store.find_change(next_snapshot)
    millis = None if first is None else max(now_millis() - first.time_millis, 0)
    if behind > _COUNTED:
        return ConsumerLag(next_snapshot, behind, None, millis)
    found = map_parallel(store.find_change, range(next_snapshot, next_snapshot + behind))
    kept = [snapshot for snapshot in found if snapshot is not None]
    written = [s.changelog_record_count or max(s.delta_record_count, 0) * (s.commit_kind == "APPEND") for s in kept]
    return ConsumerLag(next_snapshot, behind, sum(written) if len(kept) == behind else None, millis)
