"""The commands: where each is, and how the list of commands shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a command is, and what the list of commands says of it: the first line of its own help.

    Attributes:
        module: its full name.
        help: one line.
        panel: the heading that it stands under.
    """

    module: str
    help: str
    panel: str


_ROOM = "paimon_spark.cli.commands"
_PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "What is there": {
        "info": ("info", "All that matters of a table on one screen; --plot draws it."),
        "schema": ("describing", "Columns, types, keys, options and comments."),
        "read": ("rows", "Rows of a table, or of a system table ('PATH$manifests', 'LAKE/sys.db/tables')."),
        "count": ("rows", "The number of rows; from metadata alone where they are exact."),
        "explain": ("rows", "What a read would leave out: by partitions, buckets, statistics, file indexes."),
        "files": ("listings", "The data files of a state."),
        "partitions": ("listings", "The partitions of a state."),
        "buckets": ("listings", "The buckets of a state."),
        "options": ("describing", "The options that are stored in the table; --known lists all that there are."),
        "check": ("info", "Verifies that everything the metadata of a table say is true."),
        "doctor": (
            "doctor",
            "Tries out what tables need of a storage: credentials, lists, a race for one name, renames, the clock.",
        ),
        "ui": (
            "paimon_spark.ui.command",
            "Shows tables in the browser: snapshots, sorted runs, files, partitions, what a compaction would do.",
        ),
    },
    "SQL": {
        "sql": (
            "paimon_spark.shell.command",
            "Runs SQL on the tables of a warehouse, or is a shell for it; needs Java.",
        ),
    },
    "History": {
        "snapshots": ("listings", "The snapshots, oldest first."),
        "tail": ("tailing", "Prints rows as they come, or every change; Ctrl-C ends it."),
        "diff": ("rows", "What changed between two states: rows added, removed, changed."),
        "schemas": ("listings", "The schemas that the table has had."),
        "tags": ("listings", "The tags."),
        "create-tag": ("upkeep", "Keeps a snapshot under a name."),
        "consumers": ("listings", "The consumers, and the snapshot that each reads next."),
    },
    "Branches and copies": {
        "branches": ("listings", "The branches."),
        "create-branch": ("branching", "Makes a branch: a line of snapshots of its own, over the same data files."),
        "fast-forward": ("branching", "Gives the table what a branch has, in place of its own snapshots."),
        "copy": ("copying", "Copies the latest state to another table, file by file."),
    },
    "Columns and options": {
        "alter": ("altering", "Changes columns, comments and options: one new schema; rows stay as they are."),
    },
    "Maintenance": {
        "compact": ("compacting", "Merges the files of buckets that have too many, with processes of this machine."),
        "compact-manifest": ("compacting", "Merges the manifests, in one snapshot."),
        "expire": ("upkeep", "Expires old snapshots, with the files that only they need."),
        "expire-tags": ("upkeep", "Deletes the tags whose time is over."),
        "orphans": ("upkeep", "Files that no snapshot, tag, branch or changelog names."),
    },
    "Destructive: shows what would go, and asks": {
        "rollback": ("upkeep", "Takes a table back to a snapshot, tag or time: what came later goes."),
        "delete-tag": ("upkeep", "Deletes tags, and the files that nothing but they need."),
        "delete-branch": ("branching", "Deletes branches; data files that only they need go with the orphans."),
        "expire-partitions": ("destructive", "Takes partitions out of the table that are too old."),
        "remove-lost-files": ("destructive", "Takes data files out of the table that storage does not have any more."),
        "purge": ("destructive", "Empties a table for good: rows, history, tags, branches and consumers go."),
    },
}

COMMANDS = {
    name: Place(module if "." in module else f"{_ROOM}.{module}", summary, panel)
    for panel, commands in _PANELS.items()
    for name, (module, summary) in commands.items()
}

OTHER_NAMES: dict[str, str] = {
    "history": "The snapshots of a table, with what made each, are the command 'snapshots'.",
    "log": "The snapshots of a table, with what made each, are the command 'snapshots'.",
    "head": "Rows are the command 'read', with --limit.",
    "cat": "Rows are the command 'read'.",
    "show": "Rows are the command 'read'.",
    **dict.fromkeys(("describe", "columns"), "Columns, types and options are the command 'schema'."),
    "vacuum": "Old snapshots go with the command 'expire', files that nothing names with 'orphans'.",
    "optimize": "Files are merged and sorted by the command 'compact'.",
    "restore": "The command 'rollback' takes a table back to a snapshot, tag or time.",
    "tables": "The tables of a warehouse are told by 'sql': SHOW TABLES.",
    **dict.fromkeys(
        ("remove-orphan-files", "clean", "gc"),
        "Files that nothing names are the command 'orphans'; with --delete they go.",
    ),
    **dict.fromkeys(
        ("expire-snapshots", "remove-snapshots"), "Old snapshots go with the command 'expire'; --dry-run shows which."
    ),
    **dict.fromkeys(
        ("repair", "fsck", "verify"),
        "Damage is found by the command 'check'; 'remove-lost-files' takes lost data files out of the table.",
    ),
    **dict.fromkeys(
        ("clear-consumers", "reset-consumer"),
        "Consumers are shown by 'consumers', moved and deleted by 'sql': CALL sys.reset_consumer, sys.clear_consumers.",
    ),
    "drop": "A table is dropped by 'sql': DROP TABLE; 'purge' empties it.",
    "migrate": "Tables of a Hive metastore are taken over by 'sql': CALL sys.migrate_table.",
    "sync": "A table follows a database by a stream of Spark, see the guide on change data capture.",
    "list": "Tables are listed by 'sql': SHOW TABLES; 'snapshots', 'tags' and 'branches' list those of a table.",
    **dict.fromkeys(("write", "insert"), "Rows are written by 'sql': INSERT INTO; or in Python by PaimonTable.append."),
    "version": "The version is told by --version.",
    "ls": "The files of a table are the command 'files'; the tables of a warehouse are told by 'sql': SHOW TABLES.",
}
"""Commands that people try first, of which other programs have the names, and what it is here."""

OTHER_OPTIONS: dict[str, str] = {
    "--json": "It is --output json.",
    "--csv": "It is --output csv, where a command prints rows.",
    "--format": "It is --output.",
    **dict.fromkeys(("--version", "--timestamp", "--snapshot", "--tag"), "A snapshot, a tag or a time is --at."),
    **dict.fromkeys(
        ("-n", "--limit"),
        "A number of rows is --limit, of the command 'read'; 'tail' prints what comes from now on.",
    ),
}
"""The same for options."""
STATE_OPTIONS = ("--at", "--version", "--timestamp", "--snapshot", "--tag")
STATE_ARGUMENT = "A snapshot, a tag or a time is an argument here: rollback PATH STATE."
"""What is said of them by a command that has no such option."""
