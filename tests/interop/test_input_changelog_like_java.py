"""Changelog files of the ``input`` producer: ours and those of genuine Java for the same writes, row by row."""

from __future__ import annotations

import random
from dataclasses import astuple, dataclass
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from support.oracles.comparing import Row
from support.tables.compacting import file_rows

from paimon_spark import open_table
from paimon_spark.format.manifest import SimpleStats
from paimon_spark.format.paths import data_file_path
from paimon_spark.store.compact.bucket_rows import SYSTEM_FIELDS
from paimon_spark.store.metadata.file_paths import bucket_directory
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests

pytestmark = pytest.mark.interop

COLUMNS = {"p": "INT NOT NULL", "k": "STRING NOT NULL", "s": "INT", "v": "STRING"}
OPTIONS = {"bucket": "2", "changelog-producer": "input"}


@dataclass(frozen=True)
class ChangelogFile:
    """What is in a changelog file, and what its manifest entry says."""

    partition: bytes
    bucket: int
    total_buckets: int
    min_key: bytes
    max_key: bytes
    key_stats: SimpleStats
    value_stats: SimpleStats
    value_stats_cols: tuple[str, ...] | None
    min_sequence_number: int
    max_sequence_number: int
    level: int
    delete_row_count: int | None
    file_source: int | None
    rows: list[Row]


def changelog_files(path: str, snapshot_id: int) -> list[ChangelogFile]:
    table = open_table(path)
    snapshot = table.snapshots.load(snapshot_id)
    assert snapshot.changelog_manifest_list is not None
    metas = read_manifest_list(table.file_io, path, snapshot.changelog_manifest_list)
    found = []
    for entry in read_manifests(table.file_io, path, metas):
        file = entry.file
        where = data_file_path(bucket_directory(table, entry.partition, entry.bucket), file)
        rows = file_rows(table, where, [*SYSTEM_FIELDS, *table.schema.fields])
        assert file.row_count == len(rows)
        said = [getattr(file, name) for name in ChangelogFile.__dataclass_fields__ if hasattr(file, name)]
        found.append(ChangelogFile(entry.partition, entry.bucket, entry.total_buckets, *said, rows))
    assert snapshot.changelog_record_count == sum(len(file.rows) for file in found)
    return sorted(found, key=lambda file: (file.partition, file.bucket))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sequence.field": "s"},
        {"sequence.field": "s,v", "sequence.field.sort-order": "descending"},
        {"ignore-delete": "true"},
        {"merge-engine": "aggregation", "fields.v.aggregate-function": "last_value"},
        {"changelog-file.format": "avro", "changelog-file.stats-mode": "full", "file.format": "orc"},
        {"data-file.thin-mode": "true"},
    ],
    ids=str,
)
def test_the_same_writes_make_the_same_changelog_files(options: dict[str, str], java: Genuine, tmp_path: Path) -> None:
    r = random.Random(str(options))
    paths = table_path(tmp_path, "java"), table_path(tmp_path, "ours")
    for path in paths:
        java.create(path, COLUMNS, ["p", "k"], ["p"], {**OPTIONS, **options})
    for number in range(1, 4):
        count = r.choice([1, 8, 30])
        rows = [
            (r.randint(0, 1), r.choice(["a", "b", "ba", "é"]), r.choice([None, 1, 2]), str(i)) for i in range(count)
        ]
        kinds = [r.choice(["+I", "+I", "-U", "+U", "-D"]) for _ in rows]
        java.write(paths[0], rows, kinds, {"write-only": "true"})
        our_engine.write(paths[1], [(rows, kinds)], {"write-only": "true"})
        theirs, ours = (changelog_files(path, number) for path in paths)
        first = [file.rows[0][0] - other.rows[0][0] for file, other in zip(theirs, ours, strict=True)]
        assert [astuple(renumbered(file, 0)) for file in theirs] == [
            astuple(renumbered(file, shift)) for file, shift in zip(ours, first, strict=True)
        ]


def renumbered(file: ChangelogFile, shift: int) -> ChangelogFile:
    """Sequence numbers count per bucket in Java, and per task here."""
    return ChangelogFile(
        **{
            **file.__dict__,
            "min_sequence_number": file.min_sequence_number + shift,
            "max_sequence_number": file.max_sequence_number + shift,
            "rows": [(row[0] + shift, *row[1:]) for row in file.rows],
        }
    )
