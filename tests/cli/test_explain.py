"""``paimon-spark explain``: the numbers of a read, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
from support.programs.command_line import command
from support.tables.compacting import make, write


def test_what_a_read_leaves_out(tmp_path: Path) -> None:
    options = {"bucket": "-1", "metadata.stats-mode": "none", "file-index.bitmap.columns": "s"}
    table = make(tmp_path / "t", pa.schema([("k", pa.int64()), ("s", pa.string())]), (), options)
    assert command("explain", tmp_path / "t").out == "the table has no snapshot\n"
    write(table, [(1, "a"), (2, "b"), (3, "b")])
    write(table, [(4, "c")])
    assert command("explain", tmp_path / "t", "--where", "s = 'a'").out.splitlines() == [
        "snapshot: 2",
        "files: 2, with 4 rows",
        "  left by partitions and buckets: 2",
        "  left by statistics: 2",
        "  left by file indexes: 1",
        "read: 1 files with 3 rows, in 1 splits",
        "  only the rows that an index leaves: 1 files",
        "  merged with others: 0 files",
        "row groups: 1",
        "  left by their statistics: 1",
        "pages of the wanted columns: 2",
        "  left by page indexes: 2",
        "count: reads 1 files, metadata tell the rows of 0",
        "  because the condition is not on partition columns alone (1 file)",
    ]
    told = json.loads(command("explain", tmp_path / "t", "--where", "s = 'x'", "--at", "1", "--output", "json").out)
    assert (told["snapshot_id"], told["files"], told["after_indexes"]) == (1, 1, 0)
