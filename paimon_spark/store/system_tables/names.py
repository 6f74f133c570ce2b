"""The names of the system tables, which the other modules of this package and ``catalog.warehouse`` implement."""

from __future__ import annotations

from paimon_spark.errors import SchemaError, similar_names

SYS = "sys.db"
"""The database of a warehouse that tells of all its tables."""
ROW_TABLES = ("audit_log", "binlog", "ro", "row_tracking")
"""Those that show rows of the table."""
METADATA_NAMES = (
    "aggregation_fields",
    "branches",
    "buckets",
    "consumers",
    "file_indexes",
    "file_key_ranges",
    "files",
    "manifests",
    "options",
    "partitions",
    "schemas",
    "snapshots",
    "statistics",
    "table_indexes",
    "tags",
)
"""Those that are made from metadata, so that they are there for tables too that this release cannot read."""
NAMES = tuple(sorted((*METADATA_NAMES, *ROW_TABLES)))


def is_of_warehouse(location: str) -> bool:
    """True if the path, absolute or relative, has the form ``<warehouse>/sys.db/<name>``."""
    return location.rstrip("/").rpartition("/")[0].rpartition("/")[2] == SYS


def refuse_name_of_part(root: str, doing: str) -> None:
    """Refuses a new table with the name of a system table or a branch, which a table may get that does not exist yet.

    Args:
        root: the directory of the new table.
        doing: "creating a table at", ... for the message.

    Raises:
        SchemaError: it has such a name.
    """
    base, dollar, name = root.rpartition("$")
    is_branch = name.startswith("branch_") and "/" not in name
    if dollar and (is_branch or name.lower() in NAMES):
        kind = "branch" if is_branch else "system table, which cannot be written"
        raise SchemaError(
            f"{doing} {root}: `${name}` is the name of a {kind}, and there is no table at {base}: give the path of a "
            f"table without `${name}`"
        )


def near_names(name: str) -> str:
    """Advice for a wrong name: similar names, and all names that exist."""
    near = similar_names(name, NAMES)
    hint = f"did you mean ${near[0]}? " if near else ""
    return f"{hint}The system tables are {', '.join(NAMES)}"
