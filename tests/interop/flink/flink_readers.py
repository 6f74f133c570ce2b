"""Tables that we write, change, compact and expire, while streams of Flink that start in different places read them."""

from __future__ import annotations

import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flink_session import Change, FlinkSession
from support.oracles.checker import check_table

from paimon_spark import create_table, open_table
from paimon_spark.tables.stream import ChangeStream

KEYS = 12
QUIET_SECONDS = 3.0
LONGEST_SECONDS = 60.0
COLUMNS = {"k": "INT", "v": "BIGINT", "s": "STRING"}
SUM = {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum", "fields.s.aggregate-function": "last_value"}
KINDS: tuple[dict[str, str], ...] = (
    {},
    {"changelog-producer": "input"},
    {"changelog-producer": "lookup"},
    {"changelog-producer": "full-compaction"},
    {"changelog-producer": "lookup", "changelog-producer.row-deduplicate": "true"},
    {"changelog-producer": "lookup", "deletion-vectors.enabled": "true"},
    {"deletion-vectors.enabled": "true"},
    {"merge-engine": "partial-update", "changelog-producer": "lookup"},
    {"merge-engine": "partial-update", "changelog-producer": "full-compaction"},
    {**SUM, "changelog-producer": "lookup"},
    {**SUM, "changelog-producer": "full-compaction"},
    {"merge-engine": "first-row", "changelog-producer": "lookup"},
    {"merge-engine": "first-row"},
    {"changelog-producer": "input", "write-only": "true"},
    {"changelog-producer": "lookup", "write-only": "true"},
)
MODES = (
    "'scan.mode' = 'latest-full'",
    "'scan.mode' = 'latest'",
    "'scan.snapshot-id' = '{snapshot}'",
    "'scan.mode' = 'from-snapshot-full', 'scan.snapshot-id' = '{snapshot}'",
    "'scan.timestamp-millis' = '{millis}'",
    "'scan.mode' = 'compacted-full'",
)


@dataclass
class Reader:
    """A stream of Flink, and one of ours that began in the same place."""

    name: str
    options: str
    ours: ChangeStream
    changes: list[Change] = field(default_factory=list)

    def follow(self) -> None:
        for batch in self.ours:
            rows = batch.to_arrow()
            kinds = rows.column("_row_kind").to_pylist()
            values = zip(*[rows.column(name).to_pylist() for name in COLUMNS], strict=True)
            texts = [tuple(None if v is None else str(v) for v in row) for row in values]
            self.changes += list(zip(kinds, texts, strict=True))


class ReadTable:
    """One table, and the streams that follow it."""

    def __init__(self, number: int, draw: random.Random, flink: FlinkSession, warehouse: Path, log: list[str]) -> None:
        self.draw, self.flink, self.log = draw, flink, log
        self.name = f"r{number}"
        self.path = str(warehouse / "d.db" / self.name)
        kind = KINDS[number % len(KINDS)]
        self.engine = kind.get("merge-engine", "deduplicate")
        bucket = draw.choice(["1", "2", "-1"])
        options = {**kind, "bucket": bucket, "consumer.expiration-time": "1 h"}
        options["num-sorted-run.compaction-trigger"] = draw.choice(["2", "5"])
        log.append(f"{self.name}: {options}")
        create_table(self.path, COLUMNS, primary_keys="k", options=options)
        self.readers: list[Reader] = []

    def open(self, options: dict[str, str] | None = None) -> Any:
        return open_table(self.path, options or {})

    def step(self) -> None:
        deeds = [self.append, self.append, self.append, self.compact, self.expire, self.manifests]
        if self.engine == "deduplicate":
            deeds += [self.kinds, self.delete, self.update, self.merge]
        deed = self.draw.choice(deeds)
        self.log.append(f"{self.name} {deed.__name__}")
        deed()
        for reader in self.readers:
            reader.follow()

    def append(self) -> None:
        self.open().append(self._rows())

    def kinds(self) -> None:
        rows = [{**row, "kind": self.draw.choice(["+I", "+U", "-U", "-D"])} for row in self._rows()]
        self.open().append(rows, {"row-kind-column": "kind"})

    def delete(self) -> None:
        self._compacted().delete(self._some_keys())

    def update(self) -> None:
        self._compacted().update(self._some_keys(), {"s": f"'u{self.draw.randrange(100)}'"})

    def merge(self) -> None:
        merge = self._compacted().merge(self._rows(), "target.k = source.k")
        merge.when_matched_delete("source.v < 40").when_matched_update_all().when_not_matched_insert_all().execute()

    def compact(self) -> None:
        self.open().compact(full=self.draw.choice([True, False]))

    def expire(self) -> None:
        self.open().expire_snapshots(retain_max=3, retain_min=1, older_than="2999-01-01 00:00:00")

    def manifests(self) -> None:
        self.open().compact_manifest()

    def start_reader(self, mode: str) -> None:
        """Starts both streams, and waits until Flink's has begun."""
        snapshot = self.open().snapshots.latest()
        words = mode.format(snapshot=snapshot.id, millis=snapshot.time_millis)
        name = f"{self.name}_{len(self.readers)}"
        options = dict(part.strip("' ").split("' = '") for part in words.split(","))
        reader = Reader(name, words, self.open().stream(row_kinds=True, options=options))
        reader.follow()
        self.log.append(f"{self.name} is read by {name}: {words}")
        hint = f"{words}, 'consumer-id' = '{name}', 'continuous.discovery-interval' = '200 ms'"
        self.flink.follow(name, f"SELECT * FROM d.`{self.name}$audit_log` /*+ OPTIONS({hint}) */")
        end = time.monotonic() + LONGEST_SECONDS
        while not Path(self.path, "consumer", f"consumer-{name}").exists():
            assert time.monotonic() < end, f"{name} does not begin: {self.flink.end_of(name)}"
            time.sleep(0.1)
        self.readers.append(reader)

    def finish(self) -> int:
        """Compares both streams of each reader; how many changes there were."""
        self.open().compact()
        changes = 0
        for reader in self.readers:
            reader.follow()
            ours, theirs = by_key(reader.changes), self._settled(reader)
            self.flink.cancel(reader.name)
            assert ours == theirs, f"{reader.name} {reader.options}: {_difference(ours, theirs)}"
            changes += len(reader.changes)
        check_table(self.path)
        return changes

    def _settled(self, reader: Reader) -> dict[str | None, list[Change]]:
        """What Flink read, when it is what we read, or nothing more comes for a while."""
        wanted, end = by_key(reader.changes), time.monotonic() + LONGEST_SECONDS
        last, since = -1, time.monotonic()
        while True:
            assert self.flink.end_of(reader.name) == "", f"{reader.name}: {self.flink.end_of(reader.name)}"
            got = [(str(row[0]), row[1:]) for _, row in self.flink.changes(reader.name)]
            now = time.monotonic()
            if by_key(got) == wanted or now > end or (len(got) == last and now - since > QUIET_SECONDS):
                return by_key(got)
            if len(got) != last:
                last, since = len(got), now
            time.sleep(0.3)

    def _compacted(self) -> Any:
        """The table; a row change refuses where files wait for a compaction that a write-only table leaves to us."""
        self.open().compact(full=False)
        return self.open()

    def _some_keys(self) -> str:
        return f"k IN ({', '.join(str(key) for key in self.draw.sample(range(KEYS), 4))})"

    def _rows(self) -> list[dict[str, Any]]:
        keys = self.draw.sample(range(KEYS), self.draw.randint(1, 5))
        return [{"k": k, "v": self.draw.randrange(100), "s": self.draw.choice([None, "a", "b"])} for k in keys]


def run_readers(
    seed: int, flink: FlinkSession, warehouse: Path, tables: int, steps: int, log: list[str]
) -> dict[str, int]:
    """Some tables, of kinds that follow each other, with streams that begin before and among our steps.

    Returns: how many commits, streams and changes there were.
    """
    draw = random.Random(seed)
    read = [ReadTable(seed * tables + i, draw, flink, warehouse, log) for i in range(tables)]
    for table in read:
        table.append()
        table.start_reader(MODES[0])
    for number in range(steps):
        for table in read:
            table.step()
            if number == steps // 2:
                table.start_reader(draw.choice(MODES[1:]))
    changes = sum(table.finish() for table in read)
    commits = sum(table.open().snapshots.latest().id for table in read)
    return {"commits": commits, "streams": sum(len(table.readers) for table in read), "changes": changes}


def by_key(changes: list[Change]) -> dict[str | None, list[Change]]:
    """The changes of each key in their order, without deletions that come first.

    The state that a stream begins with shows those of deleted rows in Flink's $audit_log, and not in our streams.
    """
    found: dict[str | None, list[Change]] = defaultdict(list)
    for kind, values in changes:
        if kind in ("+I", "+U") or found[values[0]]:
            found[values[0]].append((kind, values))
    return {key: rows for key, rows in found.items() if rows}


def _difference(ours: dict[str | None, list[Change]], theirs: dict[str | None, list[Change]]) -> str:
    wrong = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    return "; ".join(f"key {key}: we {ours.get(key)}, Flink {theirs.get(key)}" for key in wrong[:4])
