"""Tags, branches, consumers and long-lived changelogs of the golden tables: what their writers put there, as Java 2.0.0
reads it and as we do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import java_branches
import java_tags
import our_engine
import pytest
from genuine import Genuine
from readers import assert_same, our_change
from support.oracles.comparing import Row, comparable_rows
from support.tables.golden_tables import GoldenTable, expected_rows

from paimon_spark import open_table
from paimon_spark.store.history.branches import branch_names
from paimon_spark.store.holds.consumer_files import consumer_positions

pytestmark = pytest.mark.interop

# Of each writer: the tags (snapshot, seconds they live), branches, and positions of consumers, by golden/INDEX.md.
LIVES = {
    "java-0.7": ({"t1": (1, None), "t2": (2, None)}, []),
    "java-0.9": ({"t1": (1, None), "t2": (2, 86_400_000)}, ["br1", "br_empty"]),
    "java-2.1": ({"t1": (1, None), "t2": (2, 86_400_000)}, ["br1", "br_empty"]),
}


@pytest.mark.parametrize("writer", LIVES)
def test_tags_branches_and_consumers(writer: str, java: Genuine, tmp_path: Path) -> None:
    golden = GoldenTable(writer, "tags_branches")
    path = str(golden.unpack(tmp_path))
    table, expectation = open_table(path), golden.expectation()
    tags, branches = LIVES[writer]
    ours = {
        name: (tag.snapshot.id, None if tag.time_retained is None else tag.time_retained // 10**9)
        for name, tag in table.snapshots.tags().items()
    }
    assert ours == java.run(java_tags.tags, path) == tags
    assert branch_names(table.file_io, path) == branches
    consumers = consumer_positions(table.file_io, path)
    assert consumers == java.run(java_tags.consumers, path)
    assert list(consumers) == ["c1"]
    types = our_engine.types(path)
    assert assert_same(path, [java]) == expected_rows(expectation["rows"], types)
    assert assert_same(path, [java], {"scan.tag-name": "t1"}) == expected_rows(expectation["rows_tag_t1"], types)
    assert_same(path, [java], {"scan.tag-name": "t2"})
    for branch in branches:
        wanted = expected_rows(expectation.get(f"rows_branch_{branch}", []), types)
        assert assert_same(path, [java], {"branch": branch}) == wanted
        assert our_engine.read(f"{path}$branch_{branch}") == wanted


def test_long_lived_changelogs(java: Genuine, tmp_path: Path) -> None:
    """The last snapshots, 8 and 9, are left, and the changelogs of 6, a compaction, and 7; each but 6 put a row."""
    golden = GoldenTable("java-2.1", "expire")
    path = str(golden.unpack(tmp_path))
    table = open_table(path)
    there = sorted(int(p.name.removeprefix("changelog-")) for p in Path(path, "changelog").glob("changelog-*"))
    assert (table.snapshots.ids(), there) == ([8, 9], [6, 7])
    assert table.snapshots.earliest_change_id() == 6
    types = our_engine.types(path)
    rows = expected_rows(golden.expectation()["rows"], types)
    assert assert_same(path, [java]) == rows
    streamed = java.run(java_branches.streamed, path, 6, 9)
    assert [kind for kind, _ in streamed] == ["+I"] * 3
    found: Counter[Row] = Counter()
    for number in range(6, 10):
        change = our_change(path, {"incremental-between": f"{number - 1},{number}"})
        assert change == Counter({("+I", *r): 1 for r in rows if r[0] == number - 2 > 4})
        found += change
    assert found == Counter({("+I", *r): n for r, n in comparable_rows([v for _, v in streamed], types).items()})
