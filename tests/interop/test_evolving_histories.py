"""Random histories of schema changes and writes by us and by Java: both read the same, now, then, in tags and branches.

``PAIMON_EVOLUTIONS`` sets how many are tried (each by its number as seed, so that a failure can be repeated).
"""

from __future__ import annotations

from pathlib import Path

import our_engine
import pytest
from evolving_tables import EvolvingTable, schema_count
from genuine import Genuine, table_path
from readers import assert_same, java_change, our_change, telling
from support.long_runs import tries
from support.oracles.checker import check_table

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_EVOLUTIONS", ci=8, long=100)


@pytest.mark.parametrize("seed", range(COUNT))
def test_rows_are_read_alike_across_changes_of_the_schema(seed: int, java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    table = EvolvingTable(seed, path, java)
    with telling(table.log):
        table.run(5)
        java.create_tag(path, "middle", our_engine.snapshot_ids(path)[-1])
        java.create_branch(path, "b", "middle")
        table.run(7)
        assert_same(path, [java])
        for snapshot in our_engine.snapshot_ids(path):
            assert_same(path, [java], {"scan.snapshot-id": str(snapshot)})
        assert_same(path, [java], {"scan.tag-name": "middle"})
        assert_same(path, [java], {"branch": "b"})
        last = our_engine.snapshot_ids(path)[-1]
        if last > 1:
            between = {"incremental-between": f"1,{last}"}
            assert our_change(path, between) == java_change(java, path, between)
        check_table(path)
    assert schema_count(path) >= 1
