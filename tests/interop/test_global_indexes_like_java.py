"""Indexes of a whole table that Java makes, under our writes and reads; and ours under those of Java.

``PAIMON_GLOBAL_INDEX_READS`` sets how many tables with random indexes of Java are read here, and
``PAIMON_GLOBAL_INDEX_WRITES`` how many with indexes of ours are read by Java.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from genuine import Genuine
from java_global_indexes import create_index, index_entries, rows_where
from support.long_runs import tries
from support.oracles.checker import check_table
from support.tables.column_changes import EVOLVED, VECTORS, changed, commit, delete, put, update
from support.tables.compacting import compact

from paimon_spark import check, open_table
from paimon_spark.errors import CommitConflict, UnsupportedFeature
from paimon_spark.store.checks.report import Rule

pytestmark = pytest.mark.interop

TYPES = {"k": "BIGINT", "v": "STRING", "w": "BIGINT"}
FULL = {"scalar-index.search-mode": "full"}


@pytest.fixture
def path(java: Genuine, tmp_path: Path) -> str:
    """A table of Java with 60 rows, and indexes over v (btree) and w (bitmap)."""
    made = str(tmp_path / "t")
    java.create(made, TYPES, options={**EVOLVED, **VECTORS})
    java.write(made, [(i, f"v{i % 20}" if i % 7 else None, i % 5) for i in range(40)])
    java.write(made, [(i, f"v{i % 20}" if i % 7 else None, i % 5) for i in range(40, 60)])
    assert java.run(create_index, made, "v", "btree") == 1
    assert java.run(create_index, made, "w", "bitmap") == 1
    return made


def ours(path: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(r.values()) for r in open_table(path).scan(["k", "v", "w"]).to_arrow().to_pylist()), key=repr)


def assert_found_alike(java: Genuine, path: str) -> None:
    """Java finds by its indexes the rows that a read of all rows has."""
    every = ours(path)
    for column, place in (("v", 1), ("w", 2)):
        for value in sorted({row[place] for row in every} - {None}, key=repr):
            found, left = java.run(rows_where, path, [(column, "equal", value)], FULL)
            assert sorted(found, key=repr) == [row for row in every if row[place] == value], (column, value)
            assert left >= 0, "an index was used"
    found, _ = java.run(rows_where, path, [("v", "isNull", None)], FULL)
    assert sorted(found, key=repr) == [row for row in every if row[1] is None]


def test_indexes_of_java_live_through_our_writes(java: Genuine, path: str) -> None:
    made = java.run(index_entries, path)
    open_table(path).create_tag("before")
    put(open_table(path), 100, 101, 102)  # rows that no index covers
    update(open_table(path), "k", {3: 1003, 45: 1045})  # a column that no index is over
    commit(open_table(path), delete(open_table(path), 0, 21, 59))
    assert java.run(index_entries, path) == made
    assert_found_alike(java, path)
    compact(open_table(path), full=True)
    assert_found_alike(java, path)
    table = open_table(path)
    table.create_branch("b", "before")
    assert table.expire_snapshots(retain_max=1, retain_min=1, older_than=datetime.now(UTC)).ids
    table.remove_orphan_files(older_than=datetime.now(UTC), dry_run=False)
    assert java.run(index_entries, path) == made
    assert_found_alike(java, path)
    assert len(open_table(f"{path}", {"branch": "b"}).scan(["k"]).to_arrow()) == 60
    report = check_table(path)
    assert not any("index files" in note for note in report.notes), "all index files were read"


def test_an_overwrite_takes_the_indexes_of_its_rows_away(java: Genuine, path: str) -> None:
    open_table(path).truncate()
    assert not java.run(index_entries, path)
    check_table(path)


# ------------------------------------------------------------------------------------------------ reads by indexes

KINDS = {
    "i": ("INT", lambda r: r.choice([None, *range(-3, 9)]),
          ["= 3", "in (1, 2, null)", "<> 4", "not in (1, 7)", "<=> 2"]),
    "l": ("BIGINT", lambda r: r.choice([None, 2**62, -(2**62), *range(9)]), ["> 3", "= 4611686018427387904", "<= 0"]),
    "s": ("STRING", lambda r: r.choice([None, "", "a", "ab", "abc", "b", "é", "z" * 60]),
          ["= 'a'", "like 'ab%'", "like 'a_c'", "not like 'a%'", ">= 'b'", "in ('', 'é')", "like '%b'", "= ''"]),
    "d": ("DOUBLE", lambda r: r.choice([None, 0.0, -0.0, 1.5, -2.25, float("nan"), float("inf")]),
          ["= 0.0", "< 0.0", "> -0.0", "= double('NaN')", ">= 1.5", "<> 0"]),
    "f": ("FLOAT", lambda r: r.choice([None, 0.0, -0.0, 0.5, float("nan"), 3.0]), ["= 0.5", "< 0.1", "> 0.1", "<= 3"]),
    "m": ("DECIMAL(25, 3)", lambda r: r.choice([None, Decimal("1.125"), Decimal("-3.5"), Decimal(10**20)]),
          ["= 1.125", "< 1.1259", "> -3.5", "= 1.1259"]),
    "e": ("DECIMAL(9, 2)", lambda r: r.choice([None, Decimal("0.25"), Decimal("-7"), Decimal("99")]),
          ["> 0.255", "= -7"]),
    "t": ("TIMESTAMP(9)", lambda r: r.choice([None, 1, 10**9, 10**9 + 1, -5]),
          ["= timestamp_ntz'1970-01-01 00:00:01'"]),
    "u": ("TIMESTAMP(3)", lambda r: r.choice([None, 10**9, 2 * 10**9]), ["> timestamp_ntz'1970-01-01 00:00:01'"]),
    "y": ("DATE", lambda r: r.choice([None, 0, 100, -1]), ["= date'1970-01-01'", "< date'1970-01-01'"]),
    "b": ("BOOLEAN", lambda r: r.choice([None, True, False]), ["= true", "<> true"]),
}  # fmt: skip
"""Columns: their type, their values, and what is asked of them."""


def conditions(random: Random) -> str:
    """One condition on one or more columns."""

    def leaf() -> str:
        name = random.choice(list(KINDS))
        return f"{name} {random.choice([*KINDS[name][2], 'is null', 'is not null'])}"

    found = leaf()
    for _ in range(random.choice([0, 0, 1, 2])):
        found = f"{found} {random.choice(['and', 'or'])} {leaf()}"
    return f"not ({found})" if random.random() < 0.15 else found


@pytest.mark.parametrize("seed", range(tries("PAIMON_GLOBAL_INDEX_READS", ci=1, long=40)))
def test_reads_by_indexes_of_java_find_the_same_rows(java: Genuine, tmp_path: Path, seed: int) -> None:
    """With and without the indexes; some rows are in no index, deleted, changed in other columns, or compacted."""
    random, path = Random(seed), str(tmp_path / "t")
    codec = random.choice(["none", "zstd", "lz4"])
    options = {"btree-index.compression": codec, "bitmap-index.compression": codec}
    options |= {"btree-index.block-size": "64 b", "bitmap-index.dictionary-block-size": "64 b"}
    columns = {"k": "BIGINT", "w": "BIGINT", **{name: kind for name, (kind, _, _) in KINDS.items()}}
    java.create(path, columns, options={**EVOLVED, **VECTORS, "file.format": "parquet"})

    def write() -> None:
        first = random.randrange(10**6)
        rows = [
            (first + i, i, *(draw(random) for _, draw, _ in KINDS.values())) for i in range(random.randint(50, 300))
        ]
        java.write(path, rows)

    write()
    java.run(create_index, path, "i", "btree", options)
    for name in list(KINDS)[1:]:
        for kind in random.choice([["btree"], ["bitmap"], ["btree", "bitmap"], []]):
            java.run(create_index, path, name, kind, options)
    for _ in range(random.randint(0, 3)):
        random.choice(
            [
                write,
                lambda: open_table(path).update("w < 20", {"w": -1}),
                lambda: open_table(path).delete("w in (3, 4, 50)"),
                lambda: compact(open_table(path), full=True),
            ]
        )()
    for _ in range(40):
        where = conditions(random)
        with_index, without = (
            open_table(path, {"global-index.enabled": enabled}).scan(["k", "_ROW_ID"], where=where)
            for enabled in ("true", "false")
        )
        assert sorted(map(str, with_index.to_arrow().to_pylist())) == sorted(
            map(str, without.to_arrow().to_pylist())
        ), where
    check_table(path)


def test_rows_that_no_index_covers_are_found_unless_fast_is_asked_for(java: Genuine, path: str) -> None:
    """Java finds none of them without an option; so does this release where the option says so."""
    put(open_table(path), 3)
    for options, count in (({}, 4), (FULL, 4), ({"global-index.search-mode": "fast"}, 3)):
        assert len(open_table(path, options).scan(["k"], where="v = 'v3'").to_arrow()) == count
        if options:
            assert len(java.run(rows_where, path, [("v", "equal", "v3")], options)[0]) == count
    fast = open_table(path, {"global-index.search-mode": "fast"})
    assert fast.delete("v = 'v3'").rows_deleted == 4, "a statement finds all rows"


def test_an_index_that_may_be_stale_is_not_used(java: Genuine, path: str) -> None:
    open_table(path, {"global-index.column-update-action": "IGNORE"}).update("k = 3", {"v": "'x'"})
    table = open_table(path, {"global-index.column-update-action": "IGNORE"})
    assert table.scan(["k"], where="v = 'x'").to_arrow()["k"].to_pylist() == [3]


def test_keys_of_another_type_are_not_looked_up(java: Genuine, tmp_path: Path) -> None:
    """Java reads the old keys as the new type; a DECIMAL(9, 4) has as many bytes as a DECIMAL(8, 2)."""
    path = str(tmp_path / "t")
    java.create(path, {"k": "INT", "e": "DECIMAL(8, 2)"}, options=EVOLVED)
    java.write(path, [(1, Decimal("1.25")), (2, Decimal("0.01"))])
    assert java.run(create_index, path, "e", "btree") == 1
    java.alter(path, ("updateColumnType", "e", "DECIMAL(12, 4)"))
    for value, key in (("1.25", 1), ("0.0100", 2)):
        assert open_table(path).scan(["k"], where=f"e = {value}").to_arrow()["k"].to_pylist() == [key]
    check_table(path)


# --------------------------------------------------------------------------------- updates of columns with an index


def test_an_update_of_an_indexed_column_is_refused(java: Genuine, path: str) -> None:
    """Java: MergeIntoPaimonDataEvolutionTable.checkUpdateResult, THROW_ERROR is the default."""
    with pytest.raises(UnsupportedFeature, match=r"UPDATE of .*: an index of the whole table, btree, is over .* 'v'"):
        open_table(path).update("k = 3", {"v": "'x'"})
    assert open_table(path).update("k = 3", {"k": 1003}).rows_updated == 1
    assert_found_alike(java, path)


def test_an_update_may_take_an_index_away(java: Genuine, path: str) -> None:
    table = open_table(path, {"global-index.column-update-action": "DROP_PARTITION_INDEX"})
    assert table.update("k = 3", {"v": "'x'"}).rows_updated == 1
    assert [entry[0] for entry in java.run(index_entries, path)] == ["bitmap"]
    found, left = java.run(rows_where, path, [("v", "equal", "x")], FULL)
    assert (found, left) == ([(3, "x", 3)], -1)
    check_table(path)


def test_an_update_takes_away_the_index_of_its_partition_alone(java: Genuine, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    java.create(path, TYPES, partitions=["w"], options=EVOLVED)
    java.write(path, [(i, f"v{i}", i % 2) for i in range(10)])
    assert java.run(create_index, path, "v", "btree") == 2
    table = open_table(path, {"global-index.column-update-action": "drop_partition_index"})
    assert table.update("k = 4", {"v": "'x'"}).rows_updated == 1
    ((_, _, first, last, _, _),) = java.run(index_entries, path)
    rows = open_table(path).scan(["w"], where=f"_ROW_ID >= {first} and _ROW_ID <= {last}").to_arrow()
    assert set(rows["w"].to_pylist()) == {1}
    for value, key in (("x", 4), ("v5", 5)):
        found, _ = java.run(rows_where, path, [("v", "equal", value)], FULL)
        assert [row[0] for row in found] == [key]


def test_an_update_may_leave_an_index_as_it_is(java: Genuine, path: str) -> None:
    made = java.run(index_entries, path)
    table = open_table(path, {"global-index.column-update-action": "IGNORE"})
    assert table.update("k = 3", {"v": "'x'"}).rows_updated == 1
    assert java.run(index_entries, path) == made
    check_table(path)


def test_an_index_that_another_job_makes_during_an_update_counts(java: Genuine, path: str) -> None:
    """The update was allowed when it began, because there was no index then."""
    open_table(path).truncate()
    java.write(path, [(1, "a", 1), (2, "b", 2)])
    messages = changed(open_table(path), "v", {1: "x"})
    assert java.run(create_index, path, "v", "btree") == 1
    with pytest.raises(CommitConflict, match="btree of 'v', which another job has made meanwhile"):
        commit(open_table(path), messages)
    commit(open_table(path, {"global-index.column-update-action": "DROP_PARTITION_INDEX"}), messages)
    assert not java.run(index_entries, path)
    check_table(path)


def test_index_files_of_the_table_lie_together(java: Genuine, tmp_path: Path) -> None:
    """Java: FileStorePathFactory.globalIndexFileFactory, whatever `index-file-in-data-file-dir` says."""
    path = str(tmp_path / "t")
    java.create(path, TYPES, options={**EVOLVED, "index-file-in-data-file-dir": "true"})
    java.write(path, [(1, "a", 1)])
    assert java.run(create_index, path, "v", "btree") == 1
    check_table(path)
    shutil.rmtree(f"{path}/index")
    assert any(problem.rule == Rule.STORED for problem in check(path).problems)


# ------------------------------------------------------------------------------------------------- indexes that we make


def asked(random: Random, name: str, kind: str, value: Any) -> tuple[str, str, Any]:
    """What Java is asked for: a method of PredicateBuilder that an index answers."""
    methods = ["equal", "in", "isNull", "lessThan", "greaterOrEqual", "notEqual"]
    method = random.choice([*methods, "startsWith"] if kind == "STRING" else methods)
    return name, method, [value] if method == "in" else value


@pytest.mark.parametrize("seed", range(tries("PAIMON_GLOBAL_INDEX_WRITES", ci=1, long=40)))
def test_java_finds_rows_by_our_indexes(java: Genuine, tmp_path: Path, seed: int) -> None:
    """Each column has an index of ours, or one of ours and Java's together; the rows are those of a read without."""
    random, path = Random(seed), str(tmp_path / "t")
    codec = random.choice(["none", "zstd", "lz4"])
    options = {"btree-index.compression": codec, "bitmap-index.compression": codec}
    options |= {"btree-index.block-size": "64 b", "bitmap-index.dictionary-block-size": "64 b"}
    options |= {"sorted-index.records-per-range": random.choice(["40", "10000000"])}
    columns = {"k": "BIGINT", "w": "BIGINT", **{name: kind for name, (kind, _, _) in KINDS.items()}}
    java.create(path, columns, options={**EVOLVED, **VECTORS})

    def write() -> None:
        first = random.randrange(10**6)
        rows = [(first + i, i, *(draw(random) for _, draw, _ in KINDS.values())) for i in range(random.randint(1, 120))]
        java.write(path, rows)

    kinds = {name: random.choice(["btree", "bitmap"]) for name in KINDS}
    for _ in range(random.randint(1, 3)):
        write()
        if random.random() < 0.3:
            open_table(path).update("w < 20", {"w": -1})
        for name, kind in kinds.items():
            if random.random() < 0.2:
                with suppress(RuntimeError):  # it takes files whole, which a compaction may have made of others
                    java.run(create_index, path, name, kind, options)
            elif random.random() < 0.7:
                open_table(path, options).create_global_index(name, kind)
        random.choice(
            [write, lambda: open_table(path).delete("w in (3, 4)"), lambda: compact(open_table(path), full=True)]
        )()
    for name, kind in kinds.items():
        open_table(path, options).create_global_index(name, kind)
    check_table(path)
    ranges = [entry[:1] + entry[2:5] for entry in java.run(index_entries, path)]
    assert {field for _, _, _, field in ranges} == set(range(2, 2 + len(KINDS)))
    for name, (kind, draw, wheres) in KINDS.items():
        for _ in range(4):
            value = next(found for found in iter(lambda draw=draw: draw(random), ()) if found is not None)
            condition = asked(random, name, kind, value)
            found, left = java.run(rows_where, path, [condition], FULL)
            without, none = java.run(rows_where, path, [condition], {"global-index.enabled": "false"})
            assert sorted(map(repr, found)) == sorted(map(repr, without)), condition
            assert (left >= 0 or not found, none) == (True, -1), condition
        for where in wheres:
            rows = [
                open_table(path, {"global-index.enabled": on}).scan(["k"], where=f"{name} {where}")
                for on in ("true", "false")
            ]
            assert len({tuple(sorted(scan.to_arrow()["k"].to_pylist())) for scan in rows}) == 1, where
    dropped = open_table(path).drop_global_index("i", kinds["i"]).dropped_files
    assert dropped == sum(entry[3] == 2 for entry in ranges)
    assert not [entry for entry in java.run(index_entries, path) if entry[4] == 2]
    check_table(path)
