"""The load history of COPY INTO: which files have been loaded into a table (Java: CopyLoadHistoryManager).

Java and this package write and read the same records. A *pending load* is of this package alone: it is written before
the commit and deleted after the records, so that a crash in between is found. Java ignores its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_spark.format.json_text import JsonObject, format_json, parse_json_object

RECORD_PREFIX = "load-"
PENDING_PREFIX = "pending-"
_HASH_DIGITS = 16


@dataclass(frozen=True)
class SourceFile:
    """A file of a user, as it was when it was listed. A file that differs in any of the three is another file.

    Attributes:
        path: as Hadoop's ``Path`` prints it: with the scheme, and without percent signs for special characters.
        size: bytes.
        modified_millis: epoch milliseconds.
    """

    path: str
    size: int
    modified_millis: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class LoadRecord:
    """A file that has been loaded.

    Attributes:
        loaded_millis: when, in epoch milliseconds.
        snapshot_id: the latest snapshot after the load.
        rows: how many rows of the file were loaded.
    """

    file: SourceFile
    loaded_millis: int
    snapshot_id: int
    rows: int


@dataclass(frozen=True)
class PendingLoad:
    """A load whose commit may have happened, and whose records may be missing.

    Attributes:
        name: of its file.
        user_prefix: with which the commit user of its commit begins.
        branch: that it writes to.
        latest_snapshot: the latest one when the load began; 0: there was none.
        started_millis: epoch milliseconds.
        rows: the loaded files, with the number of rows of each.
    """

    name: str
    user_prefix: str
    branch: str
    latest_snapshot: int
    started_millis: int
    rows: Mapping[SourceFile, int]


def history_directory(table: str) -> str:
    """Where the records lie. Branches share it with the table, as in Java."""
    return f"{table}/copy-into/history"


def record_prefix(path: str) -> str:
    """How the names of all records of a file begin."""
    return f"{RECORD_PREFIX}{hashlib.sha256(path.encode()).hexdigest()[:_HASH_DIGITS]}-"


def record_name(record: LoadRecord) -> str:
    return f"{record_prefix(record.file.path)}{record.loaded_millis}"


def encode_record(record: LoadRecord) -> bytes:
    """The content of the file of a record."""
    values = {
        **_file_values(record.file),
        "loadedAt": record.loaded_millis,
        "snapshotId": record.snapshot_id,
        "rowsLoaded": record.rows,
    }
    return format_json(values).encode()


def decode_record(data: bytes, where: str) -> LoadRecord:
    """The record in the bytes of its file; where names the file in errors.

    Raises:
        CorruptFile: it is no record.
    """
    json = parse_json_object(data, where)
    return LoadRecord(_file(json), json.integer("loadedAt"), json.integer("snapshotId"), json.integer("rowsLoaded"))


def encode_pending(pending: PendingLoad) -> bytes:
    """The content of the file of a pending load."""
    values = {
        "userPrefix": pending.user_prefix,
        "branch": pending.branch,
        "latestSnapshot": pending.latest_snapshot,
        "startedAt": pending.started_millis,
        "files": [{**_file_values(file), "rowsLoaded": rows} for file, rows in pending.rows.items()],
    }
    return format_json(values).encode()


def decode_pending(data: bytes, name: str, where: str) -> PendingLoad:
    """The pending load in the bytes of its file.

    Args:
        name: of the file.
        where: names the file in errors.

    Raises:
        CorruptFile: it is no pending load.
    """
    json = parse_json_object(data, where)
    rows = {}
    for item in json.array("files"):
        if not isinstance(item, dict):
            raise json.corrupt("files", "an array of objects")
        of_file = JsonObject(item, where)
        rows[_file(of_file)] = of_file.integer("rowsLoaded")
    return PendingLoad(
        name,
        json.text("userPrefix"),
        json.text("branch"),
        json.integer("latestSnapshot"),
        json.integer("startedAt"),
        rows,
    )


def _file_values(file: SourceFile) -> dict[str, Any]:
    return {"filePath": file.path, "fileSize": file.size, "lastModified": file.modified_millis}


def _file(json: JsonObject) -> SourceFile:
    return SourceFile(json.text("filePath"), json.integer("fileSize"), json.integer("lastModified"))
