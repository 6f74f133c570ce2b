"""What becomes of indexes of the whole table when columns that they are over get new values.

Java: MergeIntoPaimonDataEvolutionTable.checkUpdateResult (release 2.0), which looks at the indexes when a statement
ends. Here each attempt of the commit looks, so that an index which another job made meanwhile is not overlooked.
"""

from __future__ import annotations

from dataclasses import replace

from paimon_spark.errors import CommitConflict
from paimon_spark.format.manifest import FileKind, IndexManifestEntry
from paimon_spark.store.commit.attempt import TableState
from paimon_spark.store.metadata.global_indexes import field_ids, indexed_columns
from paimon_spark.store.metadata.messages import CommitChanges
from paimon_spark.store.metadata.partition_stats import same_partition
from paimon_spark.store.metadata.schemas import columns_written


def with_index_updates(state: TableState, changes: CommitChanges) -> CommitChanges:
    """The changes, and those of indexes that follow from them, as `global-index.column-update-action` says.

    Args:
        state: the state that the commit builds on.
        changes: of a table with data evolution; files that name the ids of their rows give these new values.

    Raises:
        CommitConflict: another job has made an index over a column that gets new values, and the option refuses that.
        CorruptFile: the index manifest is missing or damaged.
    """
    action = state.table.settings.global_index.update_action
    if action == "IGNORE" or not changes.names_rows:
        return changes
    touched = _touched(state, changes)
    if not touched:
        return changes
    if action == "THROW_ERROR":
        name, kind = next(iter(indexed_columns(state.table.schema, touched).items()))
        raise CommitConflict(
            f"this change of rows of {state.table.location} gives columns new values that an index of the whole table "
            f"is over, {kind} of '{name}', which another job has made meanwhile; run the job again"
        )
    gone = {entry.file_name for entry in changes.index}
    dropped = (replace(entry, kind=FileKind.DELETE) for entry in touched if entry.file_name not in gone)
    return replace(changes, index=(*changes.index, *dropped))


def _touched(state: TableState, changes: CommitChanges) -> list[IndexManifestEntry]:
    """The index files over columns that get new values in a partition of theirs."""
    canonical = same_partition(state.table.schema.partition_types)
    written: dict[bytes, set[int]] = {}
    for entry in changes.files:
        if entry.kind != FileKind.ADD or entry.file.first_row_id is None:
            continue
        ids = columns_written(state.table.schema, state.table.schemas, entry.file)
        every = (field.id for field in state.table.schema.fields)
        written.setdefault(canonical(entry.partition), set()).update(every if ids is None else ids)
    return [e for e in state.index_entries if not written.get(canonical(e.partition), set()).isdisjoint(field_ids(e))]
