"""Which levels a read looks at, by the table (format section 7.4): files that nobody has to open."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tables.files_by_hand import added, file, keyed_table, partition

from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import Split
from paimon_spark.tables.open import open_table


def planned(table: Table) -> list[str]:
    """The names of the files that a read opens."""
    splits = open_table(table.location).scan().plan().splits
    return sorted(file.file_name for split in splits if isinstance(split, Split) for file in split.files)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["0", "1", "4", "5"]),
        ({"deletion_vectors.enabled": "true"}, ["1", "4", "5"]),
        ({"merge_engine": "first-row"}, ["1", "4", "5"]),
    ],
    ids=str,
)
def test_level_zero_waits_where_rows_are_not_merged(options: dict[str, str], names: list[str], tmp_path: Path) -> None:
    table = keyed_table(tmp_path / "t", **options)
    files = [file(f"{level}", level=level, keys=(level * 10, level * 10 + 5)) for level in (0, 1, 4, 5)]
    TableCommit(table, "user").append([added(*files, part=partition("a"), total=2)])
    assert planned(table) == names
