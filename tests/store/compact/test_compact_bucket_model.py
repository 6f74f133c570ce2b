"""What a compaction leaves in its files, against a model that knows nothing of runs: the newest row of each key."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws.typed_batches import DOUBLES, TEXTS, integers, plain
from support.oracles.checker import check_table
from support.tables.compacting import KINDS, make, stored_rows, tasks_of, write

from paimon_spark.store.compact.bucket import run_task
from paimon_spark.store.compact.commit import commit_compaction
from paimon_spark.store.compact.task import MergeTask
from paimon_spark.store.metadata.table import Table
from paimon_spark.tables.open import open_table

KEYS = {
    pa.int64(): integers(64),
    pa.float64(): DOUBLES,
    pa.string(): TEXTS,
    pa.binary(): st.binary(max_size=3),
}
FORMS = [{"file.format": "parquet"}, {"file.format": "orc"}, {"file.format": "avro", "data-file.thin-mode": "true"}]
Commits = list[list[tuple[Any, int, str]]]


@st.composite
def histories(draw: st.DrawFn) -> tuple[pa.DataType, Commits]:
    """A key type and, commit by commit, (key, value, kind) of each row; few keys, so that they meet."""
    key_type = draw(st.sampled_from(list(KEYS)))
    pool = draw(st.lists(KEYS[key_type], min_size=1, max_size=6))
    row = st.tuples(st.sampled_from(pool), integers(32), st.sampled_from(KINDS))
    return key_type, draw(st.lists(st.lists(row, min_size=1, max_size=6), min_size=1, max_size=4))


@given(histories(), st.sampled_from(FORMS), st.booleans())
@settings(max_examples=15, deadline=None)
def test_the_newest_row_of_each_key_is_left(
    tmp_path_factory: pytest.TempPathFactory,
    history: tuple[pa.DataType, Commits],
    form: dict[str, str],
    keeps_deletes: bool,
) -> None:
    key_type, commits = history
    columns = pa.schema([pa.field("k", key_type, False), ("v", pa.int32())])
    table = make(tmp_path_factory.mktemp("t") / "t", columns, ["k"], form)
    newest: dict[str, tuple[int, int, Any, int]] = {}
    numbers = itertools.count()
    for commit in commits:
        for key, value, kind in commit:
            newest[repr(plain(key))] = (next(numbers), KINDS.index(kind), key, value)
        # The next commit goes on behind the greatest number that is left in a file.
        numbers = itertools.count(max(row[0] for row in newest.values()) + 1)
        write(table, [(key, value) for key, value, _ in commit], [kind for *_, kind in commit])
    compact_to(table, 5, drop_deletes=not keeps_deletes)
    expected = [row for row in newest.values() if keeps_deletes or row[1] in (0, 2)]
    found = [row for _, rows in stored_rows(table) for row in rows]
    assert sorted(map(repr, map(plain, found))) == sorted(map(repr, map(plain, expected)))
    for file, rows in stored_rows(table):
        assert (file.level, file.row_count) == (5, len(rows))
        assert (file.min_sequence_number, file.max_sequence_number) == (min(rows)[0], max(rows)[0])
        assert file.delete_row_count == sum(row[1] in (1, 3) for row in rows)
    check_table(table.location)


def compact_to(table: Table, level: int, drop_deletes: bool) -> None:
    """All files become one run of a level."""
    table = open_table(table.location)
    snapshot = table.snapshots.latest()
    assert snapshot is not None
    results = []
    for task in tasks_of(table):
        assert isinstance(task, MergeTask)
        changed = MergeTask(task.partition, task.bucket, task.total_buckets, level, drop_deletes, task.steps)
        results.append(run_task(table, changed))
    assert not commit_compaction(table, snapshot, {}, results).dropped
