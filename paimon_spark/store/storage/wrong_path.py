"""What a path holds that is not a table, and what to do about it: for messages."""

from __future__ import annotations

import re

from paimon_spark.file_io import FileIO
from paimon_spark.format.paths import SNAPSHOT_PREFIX
from paimon_spark.store.storage.files import list_ids

FILES = ("parquet", "orc", "avro", "csv", "json")
_PATTERN = re.compile(r"[*?{]|\[.*\]")
_DEPTH = 6  # partitions, a bucket, a file
_VERSION = re.compile(r"(.+)@(?:v(\d+)|\d{17})")  # Delta Lake


def what_is_there(file_io: FileIO, root: str) -> str:
    """A description of what a wrong path holds, with advice."""
    entries = {status.name: status for status in file_io.list(root)}
    files = [name for name, status in entries.items() if not status.is_directory and not name.startswith((".", "_"))]
    inside = _table_around(file_io, root)
    if inside is not None:
        return inside
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
    tables = [name for name, s in entries.items() if s.is_directory and file_io.exists(f"{root}/{name}/schema")]
    if tables:
        shown = ", ".join(sorted(tables)[:5]) + (", ..." if len(tables) > 5 else "")
        return f"it is a directory of {len(tables)} tables ({shown}); add the name of one to the path"
    databases = sorted(name for name, s in entries.items() if s.is_directory and name.endswith(".db"))
    if databases:
        return f"it is a warehouse with the databases {', '.join(databases[:5])}; give <warehouse>/<db>.db/<table>"
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


def _table_around(file_io: FileIO, root: str) -> str | None:
    """What to do about a path within a table; None: it is in none."""
    base, inner = root, list[str]()
    while len(inner) < _DEPTH and "/" in base.rpartition("://")[2].strip("/"):  # a bucket is no name of a directory
        base, _, name = base.rpartition("/")
        inner.insert(0, name)
        if file_io.exists(f"{base}/schema"):
            values = [part.partition("=") for part in inner if "=" in part]
            where = " AND ".join(f"{name} = '{value}'" for name, _, value in values)
            return f"it is within the table {base}: give that path" + (
                f', and the condition "{where}"' if where else ""
            )
    return None
