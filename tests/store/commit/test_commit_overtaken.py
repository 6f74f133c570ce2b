"""A commit that looks, after it was published, whether later snapshots have its rows, while snapshots expire."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.faults.faulty_store import FaultyFileIO
from support.tables.expiring import live_on, new_table

from paimon_spark.errors import CommitStateUnknown
from paimon_spark.store.commit.base import confirm_published
from paimon_spark.store.holds.marks import delete_marks, write_mark


def test_an_expiry_that_ends_while_a_commit_looks_for_its_place(tmp_path: Path) -> None:
    """Snapshots 1 and 3 went before 2, whose rows are in 4: to commit them again would double them."""
    table = new_table(tmp_path / "t")
    live_on(table, "wwww")
    base, published = table.snapshots.load(1), table.snapshots.load(2)
    write_mark(table.snapshots, 4, None)
    for number in (1, 3):
        Path(table.location, f"snapshot/snapshot-{number}").unlink()

    class Expiring(FaultyFileIO):
        def exists(self, path: str) -> bool:
            found = super().exists(path)
            if path.endswith("/snapshot-2"):
                Path(path).unlink()
                delete_marks(table.snapshots, 4)
            return found

    with pytest.raises(CommitStateUnknown, match="have expired meanwhile"):
        confirm_published(replace(table, file_io=Expiring(table.file_io)), base, published)
