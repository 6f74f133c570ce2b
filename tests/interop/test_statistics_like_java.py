"""Statistics of tables: Java reads ours, value by value; we show and inherit Java's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import java_statistics
import numpy as np
import pytest
from genuine import Genuine, table_path
from hypothesis import given, settings
from hypothesis import strategies as hs
from support.long_runs import tries

from paimon_spark import open_table
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.table_statistics import ColumnStatistics, value_text
from paimon_spark.format.types import FLOATS, DataField, Root
from paimon_spark.store.upkeep.analyze import analyze

pytestmark = pytest.mark.interop

_DAY = 86_400 * 10**9
_TIMES = hs.integers(-10_000 * _DAY, 100_000 * _DAY)
VALUES: dict[str, hs.SearchStrategy[Any]] = {
    "BOOLEAN": hs.booleans(),
    "TINYINT": hs.integers(-(2**7), 2**7 - 1),
    "SMALLINT": hs.integers(-(2**15), 2**15 - 1),
    "INT": hs.integers(-(2**31), 2**31 - 1),
    "BIGINT": hs.integers(-(2**63), 2**63 - 1),
    "FLOAT": hs.floats(width=32),
    "DOUBLE": hs.floats(),
    "DECIMAL(9, 2)": hs.decimals(-9_999_999, 9_999_999, places=2),
    "DECIMAL(38, 10)": hs.decimals(-(10**27), 10**27, places=10, allow_nan=False),
    "DATE": hs.integers(-100_000, 100_000),
    "TIME(3)": hs.integers(0, 86_399_999),
    "TIMESTAMP(0)": _TIMES.map(lambda n: n // 10**9 * 10**9),
    "TIMESTAMP(3)": _TIMES.map(lambda n: n // 10**6 * 10**6),
    "TIMESTAMP(6)": _TIMES.map(lambda n: n // 1000 * 1000),
    "TIMESTAMP(9)": _TIMES,
    "TIMESTAMP(3) WITH LOCAL TIME ZONE": _TIMES.map(lambda n: n // 10**6 * 10**6),
}
EXAMPLES = tries("PAIMON_STATISTICS_EXAMPLES", ci=6, long=12)
COLUMNS = {f"c{number}": text for number, text in enumerate(VALUES)} | {"s": "STRING", "b": "BYTES"}


@pytest.fixture
def path(java: Genuine, tmp_path: Path) -> str:
    made = table_path(tmp_path, "t")
    java.create(made, {"k": "INT NOT NULL", **COLUMNS}, keys=["k"], options={"bucket": "1"})
    java.write(made, [(1, *[None] * len(COLUMNS))])
    return made


def nothing(snapshot: Snapshot, fields: Sequence[DataField]) -> tuple[int, Mapping[str, ColumnStatistics]]:
    """Counts rows only."""
    return 1, {}


def as_known(field: DataField, text: str | None) -> Any:
    """Fractions by their value: a Java before 19 does not always print the shortest digits."""
    if text is None or field.type.root not in FLOATS:
        return text
    return repr(np.float32(text) if field.type.root is Root.FLOAT else np.float64(text))


def test_java_reads_every_value_as_it_was(java: Genuine, path: str) -> None:
    fields = {field.name: field for field in open_table(path).schema.fields}

    @settings(max_examples=EXAMPLES)
    @given(
        ends=hs.fixed_dictionaries({n: hs.tuples(VALUES[t], VALUES[t]) for n, t in COLUMNS.items() if t in VALUES}),
        counts=hs.tuples(*[hs.none() | hs.integers(0, 2**63 - 1)] * 4),
    )
    def check(ends: dict[str, tuple[Any, Any]], counts: tuple[int | None, ...]) -> None:
        def known(field: DataField) -> ColumnStatistics:
            least, greatest = (value_text(end, field.type) for end in ends[field.name])
            return ColumnStatistics(field.id, counts[0], least, greatest, counts[1], counts[2], counts[3])

        def count(snapshot: Snapshot, chosen: Sequence[DataField]) -> tuple[int, Mapping[str, ColumnStatistics]]:
            return 1, {field.name: known(field) for field in chosen}

        done = analyze(open_table(path), list(ends), count)
        assert done.statistics is not None
        numbers, columns = java.run(java_statistics.statistics, path, {})
        assert numbers == (done.statistics.snapshot_id, 0, 1, done.statistics.merged_record_size)
        read = {n: (*c[:5], *(as_known(fields[n], end) for end in c[5:])) for n, c in columns.items()}
        assert read == {
            n: (c.column_id, *counts, as_known(fields[n], c.min), as_known(fields[n], c.max))
            for n, c in done.statistics.columns.items()
        }

    check()


def test_java_inherits_ours_and_we_javas(java: Genuine, path: str) -> None:
    analyze(open_table(path), None, nothing)
    java.write(path, [(2, *[None] * len(COLUMNS))])
    assert java.run(java_statistics.statistics, path, {})[0][:3] == (1, 0, 1)
    java.run(java_statistics.update_statistics, path, 7, 99, "s")
    written = open_table(path).snapshots.latest()
    assert written is not None
    analyze(open_table(path), None, nothing)
    shown = open_table(path, {"scan.snapshot-id": str(written.id)}).system_table("statistics").to_arrow().to_pylist()
    column = {"colId": 17, "distinctCount": 2, "min": "a", "max": "ü", "nullCount": 1, "avgLen": 3, "maxLen": 4}
    assert [(row["snapshot_id"], row["mergedRecordCount"], row["mergedRecordSize"]) for row in shown] == [(3, 7, 99)]
    assert json.loads(shown[0]["colstat"]) == {"s": column}
    assert java.run(java_statistics.statistics, path, {"scan.snapshot-id": "2"})[0][:3] == (1, 0, 1)


def test_the_snapshots_are_alike(java: Genuine, path: str) -> None:
    analyze(open_table(path), None, nothing)
    java.run(java_statistics.update_statistics, path, 7, 99, "s")
    ours, theirs = (json.loads(Path(path, "snapshot", f"snapshot-{n}").read_text()) for n in (2, 3))
    assert ours.keys() == theirs.keys()
    same = ("commitKind", "commitIdentifier", "schemaId", "totalRecordCount", "deltaRecordCount", "nextRowId")
    assert [ours[key] for key in same] == [theirs[key] for key in same]
