"""The note of a stream beside its table: which batch was written last, and whether that is certain.

The official system has no such file. Snapshots cannot be the only memory of a stream, because they expire.
"""

from __future__ import annotations

from dataclasses import dataclass

from paimon_spark.format.json_text import format_present, parse_json_object

_COMMITTING, _COMMITTED = "committing", "committed"


@dataclass(frozen=True)
class StreamNote:
    """What the table remembers of a stream, or of another application that names its writes.

    Attributes:
        batch: the number of its last batch.
        operation: what the batch does: APPEND, OVERWRITE, DELETE, UPDATE or MERGE.
        since: the id of the latest snapshot when the commit began; 0: there was none.
        base: the base manifest list of that snapshot, whose name is unique.
        began_millis: when the commit began, in epoch milliseconds.
        is_done: whether the batch is committed and all that follows a commit is done. False: nobody knows.
        snapshot: the id of its snapshot; None: there was nothing to commit, or it is not done.
        rows: how many rows the batch has; None: not counted.
        cut_millis: when Spark cut the batch, as its checkpoint says, in epoch milliseconds; None: not known.
    """

    batch: int
    operation: str
    since: int
    base: str | None
    began_millis: int
    is_done: bool = False
    snapshot: int | None = None
    rows: int | None = None
    cut_millis: int | None = None


def encode_note(note: StreamNote) -> bytes:
    """The content of the file of a note."""
    values = {
        "batch": note.batch,
        "state": _COMMITTED if note.is_done else _COMMITTING,
        "operation": note.operation,
        "since": note.since,
        "base": note.base,
        "beganMillis": note.began_millis,
        "snapshot": note.snapshot,
        "rows": note.rows,
        "cutMillis": note.cut_millis,
    }
    return format_present(values)


def decode_note(data: bytes, where: str) -> StreamNote:
    """The note in the bytes of its file; where names the file in errors.

    Raises:
        CorruptFile: it is no note.
    """
    json = parse_json_object(data, where)
    state = json.text("state")
    if state not in (_COMMITTING, _COMMITTED):
        raise json.corrupt("state", f"{_COMMITTING} or {_COMMITTED}")
    return StreamNote(
        json.integer("batch"),
        json.text("operation"),
        json.integer("since"),
        json.optional_text("base"),
        json.integer("beganMillis"),
        state == _COMMITTED,
        json.optional_integer("snapshot"),
        json.optional_integer("rows"),
        json.optional_integer("cutMillis"),
    )
