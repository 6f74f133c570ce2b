"""Tables whose compaction looks keys up: a row on the lowest level above 0 holds what is above it, for readers too."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from support.tables.compacting import compact, live_files, make, rows_of, write

from paimon_spark import open_table

COLUMNS = pa.schema([pa.field("k", pa.int32(), nullable=False), ("a", pa.int32()), ("b", pa.string())])
SUM = {"merge-engine": "aggregation", "fields.a.aggregate-function": "sum", "fields.b.aggregate-function": "listagg"}
PARTIAL = {"merge-engine": "partial-update", "fields.a.sequence-group": "b", "fields.b.aggregate-function": "listagg"}


@pytest.mark.parametrize("option", [{"changelog-producer": "lookup"}, {"force-lookup": "true"}])
@pytest.mark.parametrize(("engine", "total"), [(SUM, (1, 60, "x,y,z")), (PARTIAL, (1, 30, "x,y,z"))])
def test_values_are_folded_once(
    engine: dict[str, str], total: tuple[int, int, str], option: dict[str, str], tmp_path: Path
) -> None:
    table = make(tmp_path / "t", COLUMNS, ["k"], {**engine, **option, "num-sorted-run.compaction-trigger": "9"})
    write(table, [(1, 10, "x"), *((k, k, "other") for k in range(2, 500))])
    compact(table)
    write(table, [(1, 20, "y")])
    compact(table, full=False)
    assert len({file.level for file in live_files(table)} - {0}) == 2
    write(table, [(1, 30, "z"), (2, None, None)])
    assert rows_of(table)[0] == total
    only = open_table(table.location).scan(columns=["b"]).to_arrow().column("b").to_pylist()
    assert sorted(only)[-1] == "x,y,z"
    compact(table)
    assert rows_of(table)[0] == total
