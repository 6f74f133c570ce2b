"""Reading what changed: commits as they wrote it, and states against each other, over random histories."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.oracles.comparing import Row, arrow_batch, comparable

from paimon_spark import open_table
from paimon_spark.catalogs.create import create_table
from paimon_spark.errors import CorruptFile, OptionError, UnsupportedFeature
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.schema import TableSchema, encode_schema
from paimon_spark.format.types import DataField, DataType, Root
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.store.metadata.manifest_files import read_manifest_list, read_manifests
from paimon_spark.store.metadata.messages import CommitMessage
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DiffSplit
from paimon_spark.store.write.table_write import TableWrite
from paimon_spark.store.write.write_plan import plan_write

FIELDS = (
    DataField(0, "p", DataType(Root.VARCHAR, False, 2**31 - 1)),
    DataField(1, "k", DataType(Root.INT, nullable=False)),
    DataField(2, "v", DataType(Root.INT)),
    DataField(3, "w", DataType(Root.VARCHAR, length=2**31 - 1)),
)
KINDS = ("+I", "-U", "+U", "-D")
DIFF = {"incremental-between-scan-mode": "diff"}
NONE: Mapping[str, str] = {}
Part = Sequence[tuple[str, Row]]


def make(path: Path, keys: Sequence[str] = ("p", "k"), parts: Sequence[str] = ("p",), **options: str) -> str:
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    create_table(str(path), TableSchema(0, FIELDS, 3, tuple(parts), tuple(keys), {"bucket": "2", **named}))
    return str(path)


def messages(table: Table, user: str, parts: Sequence[Part], overwrites: bool = False) -> list[CommitMessage]:
    plan, made = plan_write(table, overwrites), []
    for task, part in enumerate(parts):
        writer = TableWrite(table, user, task, plan)
        kinds = np.array([KINDS.index(kind) for kind, _ in part], np.int8)
        writer.write(arrow_batch([row for _, row in part], FIELDS), kinds if kinds.any() else None)
        made += writer.finish()
    return made


def write(path: str, *parts: Part, options: Mapping[str, str] = NONE) -> None:
    table, user = open_table(path, {"write-only": "true", **options}), f"u{random.random()}"
    TableCommit(table, user).append(messages(table, user, parts))


def overwrite(path: str, rows: Sequence[Row], partitions: Any = None) -> None:
    table, user = open_table(path, {"write-only": "true"}), f"u{random.random()}"
    TableCommit(table, user).overwrite(messages(table, user, [[("+I", row) for row in rows]], True), partitions)


def inserts(*rows: Row) -> Part:
    return [("+I", row) for row in rows]


def change(path: str, start: int | str, end: int | str, options: Mapping[str, str] = NONE, **scan: Any) -> Counter[Row]:
    """The rows of a change, their kinds at the end."""
    table = open_table(path, {"incremental-between": f"{start},{end}", **options})
    return comparable(table.scan(row_kinds=True, **scan).to_arrow())


def state(path: str, snapshot: int, **scan: Any) -> Counter[Row]:
    options = {"scan.snapshot-id": str(snapshot)}
    return comparable(open_table(path, options).scan(**scan).to_arrow()) if snapshot else Counter()


# --- random histories -------------------------------------------------------------------------------------------------


@dataclass
class History:
    """A table, and what each of its commits wrote: new rows (merged as a task merges them) and all rows."""

    seed: int
    path: str
    keyed: bool
    producer: str
    random: random.Random = field(init=False)
    deltas: list[Counter[Row]] = field(default_factory=lambda: [Counter()])
    inputs: list[Counter[Row]] = field(default_factory=lambda: [Counter()])

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    def run(self) -> None:
        for _ in range(self.random.randint(3, 6)):
            if self.random.random() < 0.2:
                self.overwrite()
            else:
                self.write()

    def rows(self) -> list[Row]:
        draw = self.random.choice
        values = [None, 0, 1, -5]
        count = self.random.randint(1, 12)
        return [(draw("xy"), self.random.randint(0, 6), draw(values), draw([None, "", "a"])) for _ in range(count)]

    def write(self) -> None:
        kinds = KINDS if self.keyed else ["+I"]
        parts = [[(self.random.choice(kinds), row) for row in self.rows()] for _ in range(self.random.choice([1, 2]))]
        write(self.path, *parts)
        self.inputs.append(Counter((*row, kind) for part in parts for kind, row in part))
        if self.keyed:  # the last row of a key in a task
            last = [{row[:2]: (*row, kind) for kind, row in part} for part in parts]
            self.deltas.append(Counter(row for part in last for row in part.values()))
        else:
            self.deltas.append(self.inputs[-1])

    def overwrite(self) -> None:
        overwrite(self.path, self.rows(), self.random.choice([None, "dynamic"]))
        self.deltas.append(Counter())
        self.inputs.append(Counter())

    def check(self) -> None:
        for _ in range(4):
            start, end = sorted(self.random.sample(range(len(self.deltas)), 2))
            scan = self.random.choice([{}, {}, {"where": "v >= 0"}, {"where": "k < 3 and w is not null"}])
            self._check_commits(start, end, scan)
            self._check_difference(start, end, scan)

    def _check_commits(self, start: int, end: int, scan: Mapping[str, Any]) -> None:
        delta, given = (sum(part[start + 1 : end + 1], Counter()) for part in (self.deltas, self.inputs))
        changelog = given if self.producer == "input" else Counter()
        modes = {"delta": delta, "changelog": changelog, "auto": delta if self.producer == "none" else changelog}
        for mode, rows in modes.items():
            options = {"incremental-between-scan-mode": mode}
            expected = Counter({row: n for row, n in rows.items() if self._kept(row, scan)})
            assert change(self.path, start, end, options, **scan) == expected
            options["incremental-between"] = f"{start},{end}"
            plain = open_table(self.path, options).scan(["w", "v"], **scan)
            adds = Counter[Row]()
            for row, n in expected.items():
                adds[(row[3], row[2])] += n if row[-1] in ("+I", "+U") else 0
            assert comparable(plain.to_arrow()) == +adds
            assert plain.count() == adds.total()

    def _check_difference(self, start: int, end: int, scan: Mapping[str, Any]) -> None:
        before, after = state(self.path, start), state(self.path, end)
        new, gone = after - before, before - after
        if self.keyed:
            keys = {row[:2] for row in after}
            gone = Counter({row: 1 for row in gone if row[:2] not in keys})
        found = change(self.path, start, end, DIFF, **scan)
        expected = Counter({(*row, True): n for row, n in new.items() if self._kept(row, scan)})
        expected.update({(*row, False): n for row, n in gone.items() if self._kept(row, scan)})
        assert Counter({(*row[:-1], row[-1] != "-D"): n for row, n in found.items()}) == expected
        plain = open_table(self.path, {"incremental-between": f"{start},{end}", **DIFF}).scan(["v"], **scan)
        assert comparable(plain.to_arrow()).total() == plain.count() == sum(n for row, n in expected.items() if row[-1])

    @staticmethod
    def _kept(row: Row, scan: Mapping[str, Any]) -> bool:
        _, k, v, w, *_ = row
        wheres = {"v >= 0": v is not None and v >= 0, "k < 3 and w is not null": k < 3 and w is not None}
        return wheres[scan["where"]] if scan else True


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("keyed", "producer"), [(True, "none"), (True, "input"), (False, "none")])
def test_any_history(seed: int, keyed: bool, producer: str, tmp_path: Path) -> None:
    options = {"changelog-producer": producer} if keyed else {"bucket-key": "k"}
    history = History(seed, make(tmp_path / "t", ("p", "k") if keyed else (), **options), keyed, producer)
    history.run()
    history.check()


# --- rules ------------------------------------------------------------------------------------------------------------


def test_a_change_ends_at_its_last_commit_and_is_planned_anew(tmp_path: Path) -> None:
    path = make(tmp_path / "t")
    write(path, inserts(("x", 1, 1, "a")))
    scan = open_table(path, {"incremental-between": "0,1"}).scan()
    write(path, inserts(("x", 1, 2, "a")))
    assert scan.to_arrow().num_rows == 1
    plan = scan.plan()
    assert plan.snapshot is not None
    assert plan.snapshot.id == 1
    latest = open_table(path, {"scan.mode": "latest-delta"}).scan(["v"])
    assert latest.to_arrow().to_pylist() == [{"v": 2}]
    write(path, inserts(("x", 1, 3, "a")))
    assert latest.to_arrow().to_pylist() == [{"v": 3}]


def test_row_kinds_are_a_column_of_any_place(tmp_path: Path) -> None:
    path = make(tmp_path / "t")
    write(
        path, [("+I", ("x", 1, 1, "a")), ("-D", ("x", 2, 2, "b")), ("+U", ("x", 3, 3, "c")), ("-U", ("x", 4, 4, "d"))]
    )
    table = open_table(path, {"incremental-between": "0,1"})
    found = table.scan(["_row_kind", "k"]).to_arrow()
    assert found.schema.field(0) == pa.field("_row_kind", pa.string(), nullable=False)
    assert sorted(map(tuple, (row.values() for row in found.to_pylist()))) == [
        ("+I", 1),
        ("+U", 3),
        ("-D", 2),
        ("-U", 4),
    ]
    assert table.scan(["K", "_ROW_KIND"]).to_arrow().schema.names == ["k", "_row_kind"]
    assert table.scan(["k"], row_kinds=True).to_arrow().schema.names == ["k", "_row_kind"]
    assert table.scan([], row_kinds=True).to_arrow().column("_row_kind").to_pylist().count("-D") == 1
    assert table.scan(["_row_kind"]).count() == 4
    assert table.scan().count() == 2
    assert sorted(table.scan(["k"]).to_arrow().column("k").to_pylist()) == [1, 3]


def test_row_kinds_of_a_state_keep_what_is_not_compacted_away(tmp_path: Path) -> None:
    """As the official system's audit log without an increment."""
    path = make(tmp_path / "t")
    write(path, inserts(("x", 1, 1, "a"), ("x", 2, 2, "b"), ("y", 3, 3, "c")))
    write(path, [("-D", ("x", 1, 1, "a")), ("+U", ("x", 2, 20, "b"))])
    found = comparable(open_table(path).scan(["k", "v", "_row_kind"]).to_arrow())
    assert found == Counter({(1, 1, "-D"): 1, (2, 20, "+U"): 1, (3, 3, "+I"): 1})
    assert comparable(open_table(path).scan(["k", "v"]).to_arrow()) == Counter({(2, 20): 1, (3, 3): 1})


def test_a_table_with_a_column_of_the_name_of_row_kinds(tmp_path: Path) -> None:
    fields = (
        DataField(0, "k", DataType(Root.INT)),
        DataField(1, "_row_kind", DataType(Root.VARCHAR, length=2**31 - 1)),
    )
    create_table(str(tmp_path), TableSchema(0, fields, 1, (), (), {}))
    table, user = open_table(str(tmp_path)), "u"
    writer = TableWrite(table, user)
    writer.write(arrow_batch([(1, "own")], fields))
    TableCommit(table, user).append(writer.finish())
    assert table.scan(["_row_kind"]).to_arrow().to_pylist() == [{"_row_kind": "own"}]
    assert table.scan().to_arrow().to_pylist() == [{"k": 1, "_row_kind": "own"}]
    with pytest.raises(OptionError, match="has a column of that name"):
        table.scan(row_kinds=True)


def test_a_condition_on_values_looks_at_the_rows_of_the_difference(tmp_path: Path) -> None:
    path = make(tmp_path / "t")
    write(path, inserts(("x", 1, 10, "a"), ("x", 2, 20, "b"), ("x", 3, 30, "c")))
    write(path, [("+U", ("x", 1, 5, "a")), ("+U", ("x", 2, 25, "b")), ("-D", ("x", 3, 30, "c"))])
    assert change(path, 1, 2, DIFF, where="v >= 20") == Counter({
        ("x", 2, 25, "b", "+U"): 1,
        ("x", 3, 30, "c", "-D"): 1,
    })  # fmt: skip
    assert change(path, 1, 2, DIFF, where="v = 10") == Counter()
    assert change(path, 1, 2, DIFF, where="k = 1", columns=["w"]) == Counter({("a", "+U"): 1})
    assert change(path, 1, 2, DIFF, where="p = 'y'") == Counter()


def test_a_column_that_is_not_read_may_be_the_one_that_differs(tmp_path: Path) -> None:
    path = make(tmp_path / "t")
    write(path, inserts(("x", 1, 10, "a"), ("x", 2, 20, "b")))
    write(path, inserts(("x", 1, 10, "other"), ("x", 2, 20, "b")))
    assert change(path, 1, 2, DIFF, columns=["v"]) == Counter({(10, "+I"): 1})


def test_buckets_of_another_number(tmp_path: Path) -> None:
    """The partition that was rescaled is compared as a whole; a row that only moved is no change."""
    path = make(tmp_path / "t")
    rows = [(p, k, k, "a") for p in "xy" for k in range(20)]
    write(path, inserts(*rows))
    schema = open_table(path).schema
    rescaled = replace(schema, id=1, options={**schema.options, "bucket": "5"})
    (tmp_path / "t" / "schema" / "schema-1").write_bytes(encode_schema(rescaled))
    overwrite(path, [*rows[1:20], ("x", 99, 9, "new")], {"p": "x"})
    assert change(path, 1, 2, DIFF) == Counter({("x", 0, 0, "a", "-D"): 1, ("x", 99, 9, "new", "+I"): 1})
    (split,) = open_table(path, {"incremental-between": "1,2", **DIFF}).scan().plan().splits
    assert isinstance(split, DiffSplit)
    assert (len(split.before), len(split.after)) == (2, 5)


def test_keys_that_an_overwrite_puts_into_other_dynamic_buckets(tmp_path: Path) -> None:
    path = make(tmp_path / "t", bucket="-1")
    rows = [("x", k, k, "a") for k in range(12)]
    for user, part in (("first", rows), ("second", [*rows[1:], ("x", 99, 9, "new")])):
        table = open_table(path, {"write-only": "true"})
        writer = TableWrite(table, user, 0, plan_write(table, overwrites=True))
        homes = np.array([(row[1] + len(user)) % 3 for row in part], np.int32)  # another one for most keys
        writer.write(arrow_batch(part, FIELDS), buckets=homes)
        TableCommit(table, user).overwrite(writer.finish(), None)
    assert change(path, 1, 2, DIFF) == Counter({("x", 0, 0, "a", "-D"): 1, ("x", 99, 9, "new", "+I"): 1})


def test_what_is_the_same_in_both_states_is_not_read(tmp_path: Path) -> None:
    path = make(tmp_path / "t", bucket="1")
    for low in (0, 100, 200):
        write(path, inserts(*(("x", low + i, 0, None) for i in range(10))))
    write(path, inserts(("x", 105, 1, None)))
    (split,) = open_table(path, {"incremental-between": "3,4", **DIFF}).scan().plan().splits
    assert isinstance(split, DiffSplit)
    assert [sum(f.row_count for f in s.files) for s in (*split.before, *split.after)] == [10, 11]
    assert change(path, 3, 4, DIFF) == Counter({("x", 105, 1, None, "+I"): 1})
    small = {"incremental-between": "0,4", "source.split.target-size": "1 b", **DIFF}
    assert len(open_table(path, small).scan().plan().splits) == 3


def test_rows_of_tables_without_keys_are_compared_where_files_were_rewritten(tmp_path: Path) -> None:
    path = make(tmp_path / "t", (), (), bucket="-1")
    write(path, inserts(("x", 1, 1, "a"), ("x", 1, 1, "a"), ("x", 2, 2, "b")))
    write(path, inserts(("x", 3, 3, "c")))
    appended = open_table(path, {"incremental-between": "1,2", **DIFF}).scan()
    assert not isinstance(appended.plan().splits[0], DiffSplit)
    overwrite(path, [("x", 1, 1, "a"), ("x", 3, 3, "c"), ("x", 3, 3, "c")])
    assert change(path, 1, 2, DIFF) == Counter({("x", 3, 3, "c", "+I"): 1})
    assert change(path, 2, 3, DIFF) == Counter({
        ("x", 1, 1, "a", "-D"): 1,
        ("x", 2, 2, "b", "-D"): 1,
        ("x", 3, 3, "c", "+I"): 1,
    })  # fmt: skip


def test_a_commit_of_new_files_that_takes_some_away_is_not_read_as_one(tmp_path: Path) -> None:
    """Other writers may name such a commit an append: its new files are not what it did."""
    path = make(tmp_path / "t", bucket="1")
    write(path, inserts(("x", 1, 1, "a")))
    table, user = open_table(path, {"write-only": "true"}), "u"
    (first,) = table.scan().plan().splits
    (message,) = messages(table, user, [inserts(("x", 1, 2, "b"))])
    TableCommit(table, user).append([replace(message, deleted_files=tuple(first.files))])
    snapshot = tmp_path / "t" / "snapshot" / "snapshot-2"
    snapshot.write_text(snapshot.read_text().replace('"OVERWRITE"', '"APPEND"'))
    assert FileKind.DELETE in {e.kind for e in delta_entries(table)}
    with pytest.raises(UnsupportedFeature, match=r"a commit of kind APPEND deletes files.*'diff'"):
        change(path, 1, 2)
    assert change(path, 1, 2, DIFF) == Counter({("x", 1, 2, "b", "+I"): 1})


def delta_entries(table: Table) -> Sequence[Any]:
    metas = read_manifest_list(table.file_io, table.location, table.snapshots.load(2).delta_manifest_list)
    return read_manifests(table.file_io, table.location, metas)


def test_changelogs_that_flink_joined_are_refused_by_name(tmp_path: Path) -> None:
    path = make(tmp_path / "t", changelog_producer="input")
    table, user = open_table(path, {"write-only": "true"}), "u"
    (message,) = messages(table, user, [inserts(("x", 1, 1, "a"))])
    joined = message.changelog_files[0]._replace(file_name="compacted-changelog-7$0-100-50-20.cc-parquet")
    TableCommit(table, user).append([replace(message, changelog_files=(joined,))])
    with pytest.raises(UnsupportedFeature, match=r"compacted-changelog-7\$0-100-50-20.cc-parquet was joined"):
        change(path, 0, 1)
    assert change(path, 0, 1, DIFF).total() == 1


def test_a_lost_changelog_file_is_named(tmp_path: Path) -> None:
    path = make(tmp_path / "t", changelog_producer="input")
    write(path, inserts(("x", 1, 1, "a")))
    (lost,) = (tmp_path / "t").glob("p=x/bucket-*/changelog-*")
    lost.unlink()
    with pytest.raises(CorruptFile, match=lost.name):
        change(path, 0, 1)
    assert change(path, 0, 1, {"incremental-between-scan-mode": "delta"}).total() == 1
