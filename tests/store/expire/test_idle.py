"""An expiry that knows from the one before that nothing is to expire yet: it deletes neither less nor later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

import pytest

from paimon_spark import create_table
from paimon_spark.file_io import file_io_for


@pytest.fixture(params=["memory", "local"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"memory://{uuid4()}/t" if request.param == "memory" else str(tmp_path / "t")


def lived(location: str, commits: int, options: Mapping[str, str]) -> list[list[int]]:
    """The ids of the snapshots after each of some commits to a new table."""
    table = create_table(location, {"id": "INT"}, options=options)
    found = []
    for number in range(commits):
        table.append({"id": [number]})
        found.append(table.snapshots.ids())
    return found


def test_a_table_keeps_as_many_as_its_options_say(location: str) -> None:
    after = lived(location, 12, {"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "5"})
    assert after == [list(range(max(1, n - 4), n + 1)) for n in range(1, 13)]


def test_what_is_too_old_goes_with_the_next_commit(location: str) -> None:
    after = lived(location, 12, {"snapshot.num-retained.min": "3", "snapshot.time-retained": "0 ms"})
    assert after == [list(range(max(1, n - 2), n + 1)) for n in range(1, 13)]


def test_a_table_that_is_made_anew(location: str) -> None:
    lived(location, 12, {"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "3"})
    file_io_for(location, {}).delete_directory(location)
    after = lived(location, 8, {"snapshot.num-retained.min": "2", "snapshot.num-retained.max": "3"})
    assert after == [list(range(max(1, n - 2), n + 1)) for n in range(1, 9)]
