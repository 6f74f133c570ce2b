"""What the page shows of a table, as values of JSON. All of it comes from metadata, but for the rows that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.cli.changes import find_changes
from paimon_spark.cli.facts import files_facts, find_object_table, find_system_scan, snapshot_facts, view_table
from paimon_spark.cli.problems import find_problems
from paimon_spark.cli.values import cell, json_values
from paimon_spark.errors import TableNotFound
from paimon_spark.store.compact.plan import plan_compaction
from paimon_spark.store.open import find_stored_table, open_data_table
from paimon_spark.store.system_tables.entries import braced_texts
from paimon_spark.ui.source import Place

SNAPSHOTS = 2000
"""The newest ones, that the page draws."""
PLACES = 1000
"""The largest partitions, and the buckets with most sorted runs, that the page draws; the others are one."""
FILES = 5000
"""Of a table with more files the page draws how many there are of which time and size."""
TIMES, PER_POWER = 200, 2
"""Cells side by side, and one above the other for each power of two of the size."""
CHANGES = 200
"""Rows that differ, that the page shows."""
_SNAPSHOT_COLUMNS = (
    "snapshot_id", "commit_time", "commit_kind", "total_record_count", "delta_record_count", "schema_id",
)  # fmt: skip
_FILE_COLUMNS = ("partition", "bucket", "level", "record_count", "file_size_in_bytes", "creation_time")
_PARTITION_COLUMNS = ("partition", "record_count", "file_size_in_bytes", "file_count", "last_update_time")
Json = dict[str, Any]


def summary(place: Place) -> Json:
    """One line of the list of tables: kind, keys, columns, the latest snapshot; no manifest is read.

    Raises:
        PaimonError: as all views: the table is not there, or its metadata are damaged.
    """
    table = find_stored_table(place.location, place.options)
    if table is None:
        raise TableNotFound(f"there is no Paimon table at {place.location}")
    schema, settings = table.schema, table.settings
    latest = table.snapshots.latest()
    return {
        "kind": str(settings.table_type),
        "engine": str(settings.merge_engine) if schema.primary_keys else None,
        "primary_keys": schema.primary_keys,
        "partition_keys": schema.partition_keys,
        "columns": len(schema.fields),
        "comment": schema.comment,
        "snapshot": None if latest is None else asdict(snapshot_facts(latest)),
    }


def overview(place: Place) -> Json:
    """What ``paimon-spark info`` tells, and the sorted runs of the buckets that have most of them."""
    options = dict(place.options)
    files = find_object_table(place.location, options, None)
    if files is not None:
        return {"object_table": asdict(files_facts(files))}
    view = view_table(place.location, options, None)
    return {"facts": asdict(view.facts), "problems": find_problems(view), "runs": _most_runs(view.runs)}


def _most_runs(runs: pa.Table) -> Json:
    """The sorted runs of the buckets with most of them: of each run its bucket, level, bytes and files.

    Args:
        runs: see ``paimon_spark.cli.facts.sorted_runs``.
    """
    directories = runs.column("directory").to_pylist()
    names = [
        f"{partition} bucket {bucket}" if partition else f"bucket {bucket}"
        for partition, bucket in zip(*(runs.column(name).to_pylist() for name in ("partition", "bucket")), strict=True)
    ]
    codes = pa.array(directories, pa.string()).dictionary_encode()
    of_run = np.asarray(codes.indices, np.int64)
    counts = np.bincount(of_run, minlength=len(codes.dictionary))
    largest = np.argsort(-counts, kind="stable")[:PLACES]
    chosen = np.flatnonzero(np.isin(of_run, largest)).tolist()
    values = {name: runs.column(name).to_pylist() for name in ("level", "bytes", "files", "rows")}
    return {
        "buckets": len(counts),
        "shown": len(largest),
        "bucket": [names[at] for at in chosen],
        **{name: [column[at] for at in chosen] for name, column in values.items()},
    }


def history(place: Place) -> Json:
    """The newest snapshots, oldest first, a list for each column; tags and consumers are among the facts."""
    options = dict(place.options)
    table = find_stored_table(place.location, options)
    ids = [] if table is None else table.snapshots.ids()
    newest = ids[-SNAPSHOTS:]
    where = f"snapshot_id >= {newest[0]}" if newest else None
    scan = find_system_scan(place.location, "snapshots", options, _SNAPSHOT_COLUMNS, where)
    return {"snapshots": len(ids), **_columns(scan.to_arrow())}


def files(place: Place) -> Json:
    """The data files of the latest snapshot, a list for each column; the partitions as numbers in ``partitions``.

    Of more than FILES the numbers of files in cells, and sums for each level.
    """
    found = find_system_scan(place.location, "files", dict(place.options), _FILE_COLUMNS).to_arrow()
    if found.num_rows > FILES:
        return {"cells": _cells(found), "levels": _columns(_levels(found))}
    coded = pc.dictionary_encode(found.column("partition").combine_chunks())
    names = coded.dictionary.to_pylist()
    return {
        **_columns(found.drop_columns(["partition"])),
        "partition": coded.indices.to_pylist(),
        "partitions": ["" if name is None else name for name in names],
    }


def _cells(found: pa.Table) -> Json:
    """How many files were made in which span of time with which size.

    Returns:
        The edges of the spans; the powers of two between which the sizes are; for each size the files of each span.
    """
    timed = found.filter(pc.is_valid(found.column("creation_time")))  # old releases wrote none
    times = timed.column("creation_time")
    sizes = np.log2(np.maximum(timed.column("file_size_in_bytes").to_numpy(), 1))
    lowest, highest = (np.floor(sizes.min()), np.floor(sizes.max()) + 1) if len(sizes) else (0, 1)
    powers = np.linspace(lowest, highest, int(highest - lowest) * PER_POWER + 1)
    moments = times.cast(pa.int64()).to_numpy()
    first, last = (moments.min(), moments.max()) if len(moments) else (0, 0)
    # A span is of whole milliseconds, and of one at least: those of one moment would have no width.
    edges = np.linspace(min(first, last - TIMES), last, TIMES + 1).astype(np.int64)
    counts, _, _ = np.histogram2d(moments, sizes, (edges, powers))
    return {
        "times": json_values(pa.array(edges).cast(times.type)),
        "powers": powers.tolist(),
        "files": counts.T.astype(np.int64).tolist(),
        "without_time": found.num_rows - timed.num_rows,
    }


def _levels(found: pa.Table) -> pa.Table:
    sums = found.group_by("level").aggregate(
        [([], "count_all"), ("file_size_in_bytes", "sum"), ("record_count", "sum")]
    )
    return sums.rename_columns(["level", "files", "bytes", "rows"]).sort_by("level")


def partitions(place: Place) -> Json:
    """The partitions with most bytes, a list for each column, and the sums of the others."""
    found = find_system_scan(place.location, "partitions", dict(place.options), _PARTITION_COLUMNS).to_arrow()
    found = found.sort_by([("file_size_in_bytes", "descending")])
    rest = found.slice(PLACES)
    sums = {name: pc.sum(rest.column(name)).as_py() or 0 for name in _PARTITION_COLUMNS[1:4]}
    return {
        "count": found.num_rows,
        "others": {"partitions": rest.num_rows, **sums},
        **_columns(found.slice(0, PLACES)),
    }


def compaction(place: Place, full: bool) -> Json:
    """What a compaction would rewrite now, the largest tasks first; nothing is rewritten.

    Args:
        place: of the table.
        full: all files of a bucket become one sorted run; else what a writer would compact.
    """
    table = open_data_table(place.location, place.options)
    plan = plan_compaction(table, full=full)
    shown = plan.tasks[:PLACES]
    texts = braced_texts([task.partition for task in shown], table.schema.partition_fields).to_pylist()
    return {
        "tasks": len(plan.tasks),
        "files": sum(len(task.files) for task in plan.tasks),
        "bytes": sum(task.weight for task in plan.tasks),
        "partition": texts,
        "bucket": [task.bucket for task in shown],
        "task_files": [len(task.files) for task in shown],
        "task_bytes": [task.weight for task in shown],
        "task_rows": [sum(file.row_count for file in task.files) for task in shown],
    }


def changes(place: Place, before: str, after: str) -> Json:
    """The rows that differ between two states: the first ``CHANGES``, and how many of each kind there are.

    Args:
        place: of the table.
        before, after: a tag, a snapshot id (0: before the first commit) or a time, the older one first.
    """
    found = find_changes(place.location, dict(place.options), before, after, None)
    names = found.schema.names
    shown = list(islice(found.rows(), CHANGES))
    return {
        "columns": names,
        "keys": found.keys,
        "differ": found.after.num_rows,
        "shown": len(shown),
        "rows": [
            {"change": one.kind, "row": _texts(one.row, names), "before": one.before and _texts(one.before, names)}
            for one in shown
        ],
    }


def _texts(row: Json, names: Sequence[str]) -> list[str | None]:
    """As texts, since a browser takes numbers for doubles."""
    return [cell(row[name]) for name in names]


def _columns(rows: pa.Table) -> Mapping[str, Sequence[Any]]:
    return {name: json_values(rows.column(name).combine_chunks()) for name in rows.column_names}
