"""What a path holds that is not a table, and what to do about it; and the paths at which no table can be made."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable

from paimon_spark.errors import AccessDenied, SchemaError, StorageError
from paimon_spark.file_io import FileIO, FileStatus
from paimon_spark.format.paths import SCHEMA_PREFIX, SNAPSHOT_PREFIX, schema_directory
from paimon_spark.store.storage.files import list_ids

FILES = ("parquet", "orc", "avro", "csv", "json")
_PATTERN = re.compile(r"[*?{]|\[.*\]")
_DEPTH = 6  # partitions, a bucket, a file
_VERSION = re.compile(r"(.+)@(?:v(\d+)|\d{17})")  # Delta Lake


def what_is_there(file_io: FileIO, root: str) -> str:
    """A description of what a wrong path holds, with advice."""
    entries = {status.name: status for status in file_io.list(root)}
    files = [name for name, status in entries.items() if not status.is_directory and not name.startswith((".", "_"))]
    around = _table_around(file_io, root)
    if around is not None:
        values = [part.partition("=") for part in root.removeprefix(f"{around}/").split("/") if "=" in part]
        where = " AND ".join(f"{name} = '{value}'" for name, _, value in values)
        return f"it is within the table {around}: give that path" + (f', and the condition "{where}"' if where else "")
    if not entries and _PATTERN.search(root):
        return (
            "a path is no pattern: give that of one table; list_tables('<db>') of paimon_spark.open_catalog names "
            "the tables of a database"
        )
    version = _VERSION.fullmatch(root)
    if not entries and version is not None and file_io.exists(f"{version[1]}/schema"):
        chosen = f"'scan.snapshot-id' = '{version[2]}'" if version[2] else "'scan.timestamp'"
        return f"the version of a table is no part of its path: give {version[1]}, and the option {chosen}"
    if not entries:
        return "there is nothing at this path. Check the path, or write to it to create the table"
    if "_delta_log" in entries:
        return "it is a Delta Lake table; read it with format('delta')"
    if "metadata" in entries and any(s.name.endswith(".metadata.json") for s in file_io.list(f"{root}/metadata")):
        return "it is an Iceberg table; read it with format('iceberg')"
    above = above_tables(file_io, root, entries.values())
    if above is not None:
        return above
    for kind in FILES:
        if any(name.endswith(f".{kind}") for name in files):
            return f"it holds {kind} files but no schema directory; read them with format('{kind}')"
    if "schema" in entries:
        if "snapshot" in entries and list_ids(file_io, f"{root}/snapshot", SNAPSHOT_PREFIX):
            return (
                "it has snapshots, and its schema directory holds no schema-<n> file: they were lost; restore the "
                "directory schema from a backup"
            )
        return "its schema directory holds no schema-<n> file; the table was dropped or never created"
    return f"it holds {', '.join(sorted(entries)[:5])} but no schema directory. Check the path"


def above_tables(file_io: FileIO, root: str, entries: Iterable[FileStatus]) -> str | None:
    """A description of a directory of tables, or of databases, with advice; None: it is neither."""
    directories = sorted(status.name for status in entries if status.is_directory)
    tables = [name for name in directories if file_io.exists(f"{root}/{name}/schema")]
    if tables:
        shown = ", ".join(tables[:5]) + (", ..." if len(tables) > 5 else "")
        return f"it is a directory of {len(tables)} tables ({shown}); add the name of one to the path"
    databases = [name for name in directories if name.endswith(".db")]
    if databases:
        return f"it is a warehouse with the databases {', '.join(databases[:5])}; give <warehouse>/<db>.db/<table>"
    return None


def check_new_place(file_io: FileIO, root: str, doing: str) -> None:
    """Refuses a new table that another one would take for its own files, or whose path names a part of another one.

    Args:
        file_io: reaches the new table.
        root: its directory.
        doing: "creating a table at", ... for the message.

    Raises:
        SchemaError: the path is within a table, or is that of a table with the suffix of a system table.
    """
    around = _table_around(file_io, root)
    if around is not None:
        raise SchemaError(
            f"{doing} {root}: it is within the table {around}: give that path; rows go to a partition by the values "
            "of its columns"
        )
    base, dollar, suffix = root.partition("$")
    if dollar and "/" not in suffix and _is_table(file_io, base):
        kind = "branch" if suffix.startswith("branch_") else "system table, which cannot be written,"
        raise SchemaError(f"{doing} {root}: `${suffix}` is the name of a {kind} of the table {base}: give {base}")


def _table_around(file_io: FileIO, root: str) -> str | None:
    """The table that a path is within; None: it is in none that can be seen."""
    base = root
    for _ in range(_DEPTH):
        if "/" not in base.rpartition("://")[2].strip("/"):  # a bucket is no name of a directory
            return None
        base = base.rpartition("/")[0]
        if _is_table(file_io, base):
            return base
    return None


def _is_table(file_io: FileIO, root: str) -> bool:
    try:
        return bool(list_ids(file_io, schema_directory(root), SCHEMA_PREFIX))
    except AccessDenied:
        return False  # who may see only a part of the storage may work there
    except StorageError as error:
        if error.errno != errno.ENOTDIR:
            raise
        return False
