"""`table-read.sequence-number.enabled`: the number of each row in $audit_log and $binlog, as Java shows it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine
from java_system_tables import java_tables
from readers import telling
from support.long_runs import tries
from support.oracles.comparing import comparable, comparable_rows

from paimon_spark import open_table
from paimon_spark.format.type_text import parse_type, type_sql
from paimon_spark.store.commit.attempt import MAX_SEQUENCE_NUMBER
from paimon_spark.store.metadata.manifest_files import read_data_manifests, read_manifest_columns

pytestmark = pytest.mark.interop

COLUMNS = {"k": "INT NOT NULL", "v": "INT", "w": "STRING"}
TABLES: Mapping[str, Mapping[str, str]] = {
    "deduplicate": {},
    "deduplicate by a field": {"sequence.field": "v"},
    "partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "first-row": {"merge-engine": "first-row"},
    "vectors": {"deletion-vectors.enabled": "true"},
    "lookup": {"changelog-producer": "lookup", "merge-engine": "aggregation"},
    "snapshots": {"sequence.snapshot-ordering": "true"},
    "two buckets": {"bucket": "2"},
}
NUMBERS = {"table-read.sequence-number.enabled": "true"}


@pytest.mark.parametrize("kind", TABLES)
def test_the_numbers_of_java(kind: str, java: Genuine, tmp_path: Path) -> None:
    path, draw, log = str(tmp_path / "t"), random.Random(kind), list[str]()
    our_engine.create(path, COLUMNS, ["k"], [], {"bucket": "1", "write-only": "true", **TABLES[kind], **NUMBERS})
    keeps_deletes = kind in ("deduplicate", "deduplicate by a field", "vectors", "two buckets")
    for step in range(5):
        rows = [(draw.randrange(6), draw.randrange(9), f"w{step}") for _ in range(4)]
        kinds = [draw.choice(["+I", "-D"]) if keeps_deletes else "+I" for _ in rows]
        if draw.random() < 0.3 and step:
            our_engine.compact(path, full=draw.random() < 0.5)
            log.append("compact")
        if draw.random() < 0.5:
            our_engine.write(path, [(rows, kinds)])
        else:
            java.write(path, rows, kinds, {"write-only": "true"})
        log.append(f"{rows} {kinds}")
        with telling(log):
            for name, theirs in java.run(java_tables, path, ["audit_log", "binlog"]).items():
                assert not isinstance(theirs, str), theirs
                ours = open_table(path).system_table(name)
                columns, javas = theirs
                assert [(f.name, type_sql(f.type)) for f in ours.fields] == columns
                assert columns[1] == ("_SEQUENCE_NUMBER", "BIGINT NOT NULL")
                wanted = comparable_rows(javas, [parse_type(text) for _, text in columns])
                assert comparable(ours.to_arrow()) == wanted


@pytest.mark.parametrize("seed", range(tries("PAIMON_SEQUENCE_TURNS", ci=2, long=8)))
def test_numbers_kept_in_snapshots(seed: int, java: Genuine, tmp_path: Path) -> None:
    """Java counts on from the property of the latest snapshot, without a look at the files: a number too small loses
    rows."""
    path, draw, log = str(tmp_path / "t"), random.Random(seed), list[str]()
    kept = {"write.sequence-number-init-mode": "snapshot", "write-only": "true"}
    options = {"bucket": "2"} if seed % 2 else {"bucket": "2", **kept}
    our_engine.create(path, COLUMNS, ["k"], [], options)
    model: dict[int, tuple[int, int, str]] = {}
    for step in range(8):
        rows = [(draw.randrange(5), draw.randrange(9), f"w{step}") for _ in range(3)]
        deed = draw.choice(["java", "we", "we", "compact"] if step else ["java", "we"])
        log.append(f"{deed} {rows}")
        match deed:
            case "java":
                java.write(path, rows, None, kept)
            case "we":
                our_engine.write(path, [(rows, None)], kept)
            case "compact":
                our_engine.compact(path, full=True, options=kept)
        model |= {row[0]: row for row in rows} if deed != "compact" else {}
        with telling(log):
            assert sorted(row for _, row in java.read(path)) == sorted(model.values())
            table = open_table(path)
            assert sorted(tuple(r.values()) for r in table.scan().to_arrow().to_pylist()) == sorted(model.values())
            latest = table.snapshots.latest()
            assert latest is not None
            assert latest.properties is not None
            files = read_manifest_columns(table.file_io, path, read_data_manifests(table.file_io, path, latest))
            assert int(latest.properties[MAX_SEQUENCE_NUMBER]) == files.max_sequence_number.max()
