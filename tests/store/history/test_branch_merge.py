"""merge_branch: what comes over, and which branches cannot be merged."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from support.faults.faulty_store import FaultyFileIO, When, is_killed, kill
from support.oracles.checker import check_table
from support.tables.commit_states import latest, with_rivals
from support.tables.compacting import make, write
from support.tables.expiring import copied, rules

from paimon_spark.errors import CommitConflict, OptionError, SchemaError, SnapshotNotFound, UnsupportedFeature
from paimon_spark.store.clean.truncate import truncate_table
from paimon_spark.store.expire.snapshots import expire_snapshots_by
from paimon_spark.store.history.branch_merge import merge_branch
from paimon_spark.store.history.branches import create_branch
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.int64())])


def put(table: Table, *values: int, branch: str = "main") -> None:
    table = open_table(table.location, {"branch": branch})
    write(table, [(value,) * len(table.schema.fields) for value in values])


def found(table: Table, branch: str = "main") -> list[int]:
    return sorted(open_table(table.location, {"branch": branch}).scan(["k"]).to_arrow().column(0).to_pylist())


def forked(path: Path, keys: tuple[str, ...] = (), bucket: str = "-1") -> Table:
    """Main has the rows 1 and 2, the branch b has 1 and 11 and 12."""
    table = make(
        path / "t", COLUMNS, keys, {"bucket": bucket, **({} if keys or bucket == "-1" else {"bucket-key": "k"})}
    )
    put(table, 1)
    create_branch(table, "b", snapshot=1)
    put(table, 2)
    put(table, 11, branch="b")
    put(table, 12, branch="b")
    return table


@pytest.mark.parametrize("bucket", ["-1", "2"])
def test_what_the_target_does_not_have_comes(tmp_path: Path, bucket: str) -> None:
    table = forked(tmp_path, bucket=bucket)
    done = merge_branch(table, "b")
    assert (done.snapshot_id, done.files, done.rows) == (3, 2, 2)
    assert (found(table), found(table, "b")) == ([1, 2, 11, 12], [1, 11, 12])
    made = latest(table)
    assert (made.commit_kind, made.commit_identifier, made.delta_record_count) == ("APPEND", 0, 2)
    again = merge_branch(table, "b")
    assert (again.snapshot_id, again.files, latest(table).id) == (None, 0, 3)
    put(table, 13, branch="b")
    assert merge_branch(table, "b").rows == 1
    back = merge_branch(table, "main", "b")
    assert (back.rows, found(table, "b")) == (1, [1, 2, 11, 12, 13])
    check_table(table.location)
    check_table(f"{table.location}$branch_b")


def test_two_merges_at_once(tmp_path: Path) -> None:
    table = forked(tmp_path)
    with pytest.raises(CommitConflict, match="there already"):
        merge_branch(with_rivals(table, lambda: merge_branch(table, "b")), "b")
    assert found(table) == [1, 2, 11, 12]
    put(table, 13, branch="b")
    merge_branch(with_rivals(table, lambda: put(table, 3)), "b")
    assert found(table) == [1, 2, 3, 11, 12, 13]


def test_the_source_expires_concurrently(tmp_path: Path) -> None:
    """Its files were taken away by then, and nobody but the merge needs them."""
    table = forked(tmp_path)
    other = open_table(table.location, {"branch": "b"})

    def rival() -> None:
        truncate_table(other)
        expire_snapshots_by(other, rules(1))

    merge_branch(with_rivals(table, rival), "b")
    assert found(table) == [1, 2, 11, 12]
    assert expire_snapshots_by(other, rules(1)).data_files == 0
    assert found(table) == [1, 2, 11, 12]
    check_table(table.location)


def test_names(tmp_path: Path) -> None:
    table = forked(tmp_path)
    create_branch(table, "empty")
    for source, target, error, match in (
        ("b", "b", OptionError, "name two branches"),
        ("x", "main", SnapshotNotFound, "no branch 'x'; its branches: b, empty"),
        ("main", "x", SnapshotNotFound, "no branch 'x'"),
        ("empty", "main", SnapshotNotFound, "'empty' has no snapshot"),
        ("main", "empty", SnapshotNotFound, "'empty' has no snapshot"),
    ):
        with pytest.raises(error, match=match):
            merge_branch(table, source, target)


def test_histories_that_do_more_than_add(tmp_path: Path) -> None:
    """Java asks both branches for all snapshots from the first; each APPEND or ANALYZE."""
    for branch, other in (("b", "main"), ("main", "b")):
        table = forked(tmp_path / branch)
        truncate_table(open_table(table.location, {"branch": branch}))
        for pair in ((branch, other), (other, branch)):
            with pytest.raises(UnsupportedFeature, match=rf"of branch '{branch}' is of the kind OVERWRITE"):
                merge_branch(table, *pair)
    table = forked(tmp_path)
    Path(table.location, "snapshot/snapshot-1").unlink()
    with pytest.raises(UnsupportedFeature, match="snapshot 1 of branch 'main' has expired"):
        merge_branch(table, "b")


def test_tables_that_cannot(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeature, match="'b' has a primary key"):
        merge_branch(forked(tmp_path / "keys", keys=("k",), bucket="1"), "b")
    table = forked(tmp_path)
    schema = json.loads(Path(table.location, "branch/branch-b/schema/schema-0").read_text())
    changed = {**schema, "id": 1, "fields": [*schema["fields"], {"id": 2, "name": "w", "type": "INT"}]}
    changed["highestFieldId"] = 2
    Path(table.location, "branch/branch-b/schema/schema-1").write_text(json.dumps(changed))
    with pytest.raises(SchemaError, match="columns differ"):
        merge_branch(table, "b")
    put(table, 14, branch="b")
    Path(table.location, "schema/schema-1").write_text(json.dumps({**changed, "comment": "another"}))
    with pytest.raises(SchemaError, match="schema 1, which is another one in the target"):
        merge_branch(table, "b")
    Path(table.location, "schema/schema-1").unlink()
    Path(table.location, "schema/schema-2").write_text(json.dumps({**changed, "id": 2}))
    with pytest.raises(SchemaError, match="schema 1, which the target has not"):
        merge_branch(table, "b")


def test_a_merge_that_is_killed(tmp_path: Path) -> None:
    """All or nothing, and a second call ends it."""
    whole = forked(tmp_path)
    copy = copied(whole, tmp_path / "log")
    log = FaultyFileIO(copy.file_io)
    merge_branch(replace(copy, file_io=log), "b")
    changes = [at for at, name in enumerate(log.log) if name.startswith("!")]
    assert len(changes) >= 3
    for at in changes:
        for when in (When.BEFORE, When.AFTER):
            table = copied(whole, tmp_path / f"{at}{when}")
            dying = replace(table, file_io=FaultyFileIO(table.file_io, at, when, act=kill))
            assert is_killed(partial(merge_branch, dying, "b"))
            assert found(table) in ([1, 2], [1, 2, 11, 12])
            merge_branch(table, "b")
            assert found(table) == [1, 2, 11, 12]
            check_table(table.location)
