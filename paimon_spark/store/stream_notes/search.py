"""What an expiry found when it looked for a batch that was cut off in the middle of its commit."""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.format.json_text import format_present, parse_json_object
from paimon_spark.format.snapshot import CommitKind, Snapshot
from paimon_spark.store.stream_notes.note import StreamNote


@dataclass(frozen=True)
class BatchSearch:
    """The search for a batch in snapshots, written down before they expire.

    Attributes:
        batch: the number of the batch.
        began_millis: when its commit began, as in the note of the writer.
        end: all snapshots since the note with ids below this one have been looked at.
        snapshot: the id of the snapshot of the batch; None: none of those that were looked at.
    """

    batch: int
    began_millis: int
    end: int
    snapshot: int | None = None

    def is_of(self, note: StreamNote) -> bool:
        """True if the search was for the batch of the note, and the note is still undecided."""
        return not note.is_done and (self.batch, self.began_millis) == (note.batch, note.began_millis)


def is_commit_of(snapshot: Snapshot, user: str, batch: int) -> bool:
    """True if a snapshot is the commit of a batch, not a compaction after it."""
    named = (snapshot.commit_user, snapshot.commit_identifier) == (user, batch)
    return named and snapshot.commit_kind != CommitKind.COMPACT


def has_all_since(note: StreamNote, first: Snapshot) -> bool:
    """True if no snapshot has expired that was made after the note, though snapshot ids may have been used again.

    Args:
        first: the oldest snapshot that has not expired.
    """
    return (note.since == 0 and first.id == 1) or first.time_millis < note.began_millis


def encode_search(search: BatchSearch) -> bytes:
    """The content of the file of a search."""
    values = {
        "batch": search.batch,
        "beganMillis": search.began_millis,
        "end": search.end,
        "snapshot": search.snapshot,
    }
    return format_present(values)


def decode_search(data: bytes, where: str) -> BatchSearch:
    """The search in the bytes of its file; where names the file in errors.

    Raises:
        CorruptFile: it is none.
    """
    json = parse_json_object(data, where)
    return BatchSearch(
        json.integer("batch"), json.integer("beganMillis"), json.integer("end"), json.optional_integer("snapshot")
    )
