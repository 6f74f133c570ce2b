"""Chain tables as Java has them: three branches written by both in turns, and read as Java reads them.

``PAIMON_CHAIN_HISTORIES`` sets how many are tried (each by its number as seed).
"""

from __future__ import annotations

import datetime as dt
import random
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import java_branches
import java_chains
import our_engine
import pytest
from genuine import Genuine
from readers import java_read, telling
from support.long_runs import tries
from support.oracles.comparing import comparable
from support.tables.micro_batches import opened

from paimon_spark import check, open_table
from paimon_spark.errors import CommitConflict, PaimonError, UnsupportedFeature
from paimon_spark.store.evolution.alter import alter_table
from paimon_spark.store.evolution.schema_update import SchemaUpdate
from paimon_spark.store.history.branches import create_branch

pytestmark = pytest.mark.interop

SEEDS = range(tries("PAIMON_CHAIN_HISTORIES", ci=4, long=200))
DAYS = ["20260130", "20260131", "20260201", "20260203", "20260205"]
HOURS = ["00", "07", "22", "23"]
DAILY = {"partition.timestamp-pattern": "$dt", "partition.timestamp-formatter": "yyyyMMdd"}
HOURLY = {"partition.timestamp-pattern": "$dt $h:00:00", "partition.timestamp-formatter": "yyyyMMdd HH:mm:ss"}
LAYOUTS: list[tuple[list[str], Mapping[str, str]]] = [
    (["dt"], DAILY),
    (["dt", "h"], HOURLY),
    (["g", "dt"], {**DAILY, "chain-table.chain-partition-keys": "dt"}),
    (["g", "dt", "h"], {**HOURLY, "chain-table.chain-partition-keys": "dt,h"}),
]
ENGINES: list[Mapping[str, str]] = [
    {"merge-engine": "deduplicate"},
    {"merge-engine": "deduplicate", "deletion-vectors.enabled": "true"},
    {"merge-engine": "partial-update"},
    {"merge-engine": "aggregation", "fields.n.aggregate-function": "sum", "fields.v.aggregate-function": "max"},
]
BRANCHES = ("main", "snapshot", "delta")


class _Life:
    """A chain table whose branches are written by us and by Java."""

    def __init__(self, java: Genuine, path: str, seed: int) -> None:
        self.java, self.path, self.draw, self.log = java, path, random.Random(seed), [f"seed {seed}"]
        self.places, layout = self.draw.choice(LAYOUTS)
        self.engine = self.draw.choice(ENGINES)
        self.sequence = 0
        columns = {
            "g": "INT",
            "dt": "STRING",
            "h": "STRING",
            "k": "INT NOT NULL",
            "s": "INT",
            "n": "INT",
            "v": "STRING",
        }
        self.columns = {
            name: f"{kind} NOT NULL" if name in self.places else kind
            for name, kind in columns.items()
            if name in self.places or name not in ("g", "dt", "h")
        }
        options = {**layout, **self.engine, "chain-table.enabled": "true", "sequence.field": "s", "bucket": "2"}
        self.log.append(f"{self.places} {options}")
        our_engine.create(path, self.columns, [*self.places, "k"], self.places, options)
        names = {"scan.fallback-snapshot-branch": "snapshot", "scan.fallback-delta-branch": "delta"}
        for branch in ("snapshot", "delta"):
            if self.draw.random() < 0.5:
                java.run(java_branches.create_branch, path, branch)
            else:
                create_branch(open_table(path), branch)
        for branch in BRANCHES:
            alter_table(open_table(path, {"branch": branch}), SchemaUpdate().set_options(names).changes)

    def row(self, place: Mapping[str, Any]) -> tuple[Any, ...]:
        draw = self.draw
        self.sequence += 1
        values = {
            **place,
            "k": draw.randrange(6),
            "s": self.sequence if draw.random() < 0.8 else draw.randrange(1000, 10**6),
            "n": draw.choice([None, draw.randrange(100)]),
            "v": draw.choice([None, f"v{draw.randrange(100)}"]),
        }
        return tuple(values[name] for name in self.columns)

    def place(self) -> dict[str, Any]:
        draw = self.draw
        return {"g": draw.randrange(2), "dt": draw.choice(DAYS), "h": draw.choice(HOURS)}

    def step(self) -> None:
        draw = self.draw
        branch = draw.choice(["main", "snapshot", "snapshot", "delta", "delta", "delta"])
        by_java = draw.random() < 0.5
        deed = draw.choice(["write", "write", "write", "overwrite", "overwrite", "compact", "drop"])
        where = {} if branch == "main" else {"branch": branch}
        place = self.place()
        rows = [self.row(place) for _ in range(draw.randrange(1, 5))]
        rows = list({row[self.names.index("k")]: row for row in rows}.values()) if deed == "overwrite" else rows
        self.log.append(f"{'Java' if by_java else 'we'}: {deed} {branch} {place} {rows}")
        if deed == "write":
            deletes = self.engine["merge-engine"] == "deduplicate"
            kinds = [draw.choice(["+I", "+I", "-D"]) if deletes else "+I" for _ in rows]
            if by_java:
                self.java.write(self.path, rows, kinds, {**where, "write-only": draw.choice(["true", "false"])})
            else:
                our_engine.write(self.path, [(rows, kinds)], where)
        elif deed == "compact":
            if open_table(self.path, where).snapshots.latest_id() is not None:
                compact = self.java.compact if by_java else our_engine.compact
                compact(self.path, True, where)
        else:
            self.replace(deed, by_java, where, {name: place[name] for name in self.places}, rows)

    def replace(
        self, deed: str, by_java: bool, where: Mapping[str, str], place: Mapping[str, Any], rows: list[tuple[Any, ...]]
    ) -> None:
        """An overwrite or a drop. What the one refuses, because later partitions are made of it, the other does too."""
        refused = self.by_java(deed, where, place, rows) if by_java else self.by_us(deed, where, place, rows)
        if refused is None:
            return
        self.log.append(f"  refused: {refused}")
        if deed == "drop" and where.get("branch") == "snapshot":  # nothing was committed
            assert (self.by_us if by_java else self.by_java)(deed, where, place, rows) is not None

    def by_us(
        self, deed: str, where: Mapping[str, str], place: Mapping[str, Any], rows: list[tuple[Any, ...]]
    ) -> str | None:
        table = open_table(self.path, where)
        try:
            if deed == "drop":
                table.drop_partitions(" AND ".join(f"{name} = '{value}'" for name, value in place.items()))
            else:
                table.dynamic_partition_overwrite(our_engine.arrow_batch(rows, table.schema.fields))
        except CommitConflict as error:
            return str(error)
        return None

    def by_java(
        self, deed: str, where: Mapping[str, str], place: Mapping[str, Any], rows: list[tuple[Any, ...]]
    ) -> str | None:
        texts = {name: str(value) for name, value in place.items()}
        if deed == "drop":
            return self.java.run(java_chains.drop_partition, self.path, texts, where)
        try:
            self.java.write(self.path, rows, None, where, texts)
        except RuntimeError as error:
            return str(error)
        return None

    def stream(self) -> None:
        """A stream begins with the rows that Java's begins with, and goes on with the same changes."""
        merges = {"chain-table.streaming.merge-snapshot": self.draw.choice(["true", "false"])}
        self.log.append(f"stream {merges}")
        if self.engine["merge-engine"] != "deduplicate":
            with pytest.raises(UnsupportedFeature, match="the merge engine of its branch"):
                opened(open_table(self.path), {})
            with pytest.raises(RuntimeError, match="does not support"):
                self.java.run(java_chains.stream, self.path, merges)
            return
        for branch in BRANCHES[1:]:  # Java does not show rows that wait for a compaction, and never will
            if open_table(self.path, {"branch": branch}).snapshots.latest_id() is not None:
                self.java.compact(self.path, False, {"branch": branch})
        read = opened(open_table(self.path), merges, row_kinds=True)
        run = read.start()
        at, position = run.first(), None
        for _ in range(2):
            told, position = self.java.run(java_chains.stream, self.path, merges, position)
            end = run.next(at, limited=False)
            rows = [batch for unit in run.units(at, end) for batch in read.reader.read(unit)]
            found = Counter((row["_row_kind"], *(row[n] for n in self.names)) for b in rows for row in b.to_pylist())
            if run.first().snapshot == 1 and not rows:
                return  # without a change yet, Java shows whole partitions at once, and we with the first change
            assert sorted(map(repr, found.elements())) == sorted(map(repr, told))
            at = end
            for _ in range(3):
                self.step()

    def expire(self) -> None:
        """We expire partitions of a copy, and Java those of the table: the same ones, and the rest reads the same."""
        copy = f"{self.path}_copy"
        shutil.copytree(self.path, copy)
        day = self.draw.choice([*DAYS[1:], "20260301"])
        age = dt.datetime.now() - dt.datetime.strptime(day, "%Y%m%d")
        options = {"partition.expiration-time": f"{int(age.total_seconds()) - 3600} s"}  # so that hour 00 is before
        options["partition.expiration-check-interval"] = "0 s"
        options["partition.expiration-batch-size"] = "1000"  # Java fails at some smaller batches
        options["partition.expiration-max-num"] = str(self.draw.choice([1, 2, 100]))
        options |= self.draw.choice([{}, {"branch": "snapshot"}, {"branch": "delta"}])
        self.log.append(f"expire {options}")
        theirs = self.java.run(java_chains.expire_partitions, self.path, options)
        ours = open_table(copy, options).expire_partitions()
        names = ["/".join(f"{key}={spec[key]}" for key in self.places) for spec in theirs]
        assert sorted(ours.partitions) == sorted(names)
        for branch in BRANCHES:
            where = {"branch": branch}
            assert our_engine.read(copy, where) == our_engine.read(self.path, where), branch
            assert check(open_table(copy, where)).problems == ()

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def check(self) -> None:
        for where in ({}, {"branch": "snapshot"}, {"branch": "delta"}):
            try:
                ours: Any = our_engine.read(self.path, where)
            except PaimonError as error:
                ours = str(error)
            try:
                theirs: Any = java_read(self.java, self.path, where)
            except RuntimeError as error:
                theirs = f"Java: {error}"
            assert ours == theirs, where
        table = open_table(self.path)
        whole = comparable(table.scan().to_arrow())
        changes = table.system_table("audit_log").to_arrow().to_pylist()
        told = self.java.run(java_chains.audit_log, self.path)
        assert sorted(map(repr, (tuple(row.values()) for row in changes))) == sorted(map(repr, told))
        place = self.place()
        condition = f"dt = '{place['dt']}' AND k < 3"
        at = {name: number for number, name in enumerate(self.names)}
        wanted = {row: n for row, n in whole.items() if row[at["dt"]] == place["dt"] and row[at["k"]] < 3}
        assert comparable(table.scan(where=condition).to_arrow()) == wanted, condition
        assert table.scan(where=condition).count() == sum(wanted.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_any_history_reads_the_same(seed: int, java: Genuine, tmp_path: Path) -> None:
    life = _Life(java, str(tmp_path / "lake.db" / "t"), seed)
    with telling(life.log):
        for _ in range(life.draw.randrange(4, 14)):
            life.step()
            life.check()
        for branch in BRANCHES:
            assert check(open_table(life.path, {"branch": branch})).problems == ()
        life.stream()
        life.expire()
