"""The tasks that copy files of an append table: each knows which rows of its file are deleted already."""

from __future__ import annotations

from pathlib import Path

from support.tables.commit_states import latest
from support.tables.three_files import VECTORS, delete_rows, three_files

from paimon_spark.store.commit.attempt import table_state
from paimon_spark.store.read.splits import Split
from paimon_spark.store.rows.live_files import LiveFile, append_tasks
from paimon_spark.tables.open import open_table


def test_a_file_is_copied_without_the_rows_that_its_vector_deletes(tmp_path: Path) -> None:
    table = three_files(tmp_path / "t", VECTORS)
    entries = {entry.file.file_name: entry for entry in table_state(table, latest(table)).live_entries(None)}
    changed = next(name for name, entry in entries.items() if b"a" in entry.partition)
    delete_rows(table, changed, "a", 0)
    splits = open_table(table.location).scan().plan().splits
    deletions = {name: place for split in splits if isinstance(split, Split) for name, place in split.deletions.items()}
    assert set(deletions) == {changed}
    others = [name for name in entries if name != changed][:1]
    chosen = {
        name: LiveFile(entries[name].partition, entries[name].file, deletions.get(name)) for name in (changed, *others)
    }
    tasks = append_tasks(table, latest(table), chosen)
    assert {name: task.deletions for name, task in tasks.items()} == {
        changed: {changed: deletions[changed]},
        others[0]: {},
    }
    for name, task in tasks.items():
        assert (task.partition, task.bucket, task.files) == (entries[name].partition, 0, (entries[name].file,))
