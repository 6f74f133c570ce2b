"""Small tables whose snapshots are to expire: lives made step by step, and what of them is on storage."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from paimon_spark.format.snapshot import Tag, encode_snapshot, encode_tag
from paimon_spark.store.holds.retention import Retention, RetentionRules
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table
from support.tables.compacting import Row, compact, make, write

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])
FOREVER = 2**31 - 1
KEEP_TWO = {"snapshot.num-retained.min": "1", "snapshot.num-retained.max": "2"}
NO_OPTIONS: Mapping[str, str] = {}


def new_table(path: Path, options: Mapping[str, str] = NO_OPTIONS) -> Table:
    return make(path, COLUMNS, ["k"], options)


def live_on(table: Table, steps: str) -> None:
    """w: a write of keys 0 and 1; c: a full compaction, which takes the files of all writes before."""
    for step in steps:
        if step == "w":
            number = (table.snapshots.latest_id() or 0) + 1
            write(table, [(0, number), (1, number)])
        else:
            compact(table)


def copied(table: Table, path: Path) -> Table:
    return open_table(str(shutil.copytree(table.location, path)))


def tag(table: Table, name: str, snapshot_id: int) -> None:
    """A tag as the official system writes it."""
    table.file_io.write_bytes(f"{table.location}/tag/tag-{name}", encode_tag(Tag(table.snapshots.load(snapshot_id))))


def branch(table: Table, name: str, snapshot_id: int) -> Table:
    """A branch that begins with a snapshot, without a tag that would hold its files too."""
    root = Path(table.location, "branch", f"branch-{name}")
    shutil.copytree(Path(table.location, "schema"), root / "schema")
    (root / "snapshot").mkdir()
    (root / "snapshot" / f"snapshot-{snapshot_id}").write_bytes(encode_snapshot(table.snapshots.load(snapshot_id)))
    return open_table(table.location, {"branch": name})


def consumer(table: Table, name: str, snapshot_id: int) -> None:
    table.file_io.write_bytes(f"{table.location}/consumer/consumer-{name}", b'{"nextSnapshot": %d}' % snapshot_id)


def rules(keep: int, changelogs: int | None = None) -> RetentionRules:
    """The last snapshots stay, however young, and so many changelogs."""
    snapshots = Retention(keep, keep, 0, 2**63 - 1, FOREVER)
    longer = snapshots if changelogs is None else Retention(changelogs, changelogs, 0, 2**63 - 1, FOREVER)
    return RetentionRules(snapshots, longer, consumers_hold_snapshots=True)


def states(table: Table) -> dict[str, list[Row]]:
    """The rows of all snapshots and tags."""
    chosen = {f"snapshot {n}": {"scan.snapshot-id": str(n)} for n in table.snapshots.ids()}
    chosen |= {f"tag {name}": {"scan.tag-name": name} for name in table.snapshots.tag_names()}
    return {name: state(table, options) for name, options in chosen.items()}


def state(table: Table, options: Mapping[str, str]) -> list[Row]:
    given = {**options, "branch": table.branch}
    rows = open_table(table.location, given).scan().to_arrow().to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def stored(table: Table) -> set[str]:
    """All files, relative to the table."""
    return {
        os.path.relpath(os.path.join(directory, name), table.location)
        for directory, _, names in os.walk(table.location)
        for name in names
    }


def data_files(table: Table) -> set[str]:
    return {path for path in stored(table) if path.startswith("bucket-")}
