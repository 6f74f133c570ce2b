"""Random tables with file indexes and random conditions: the rows are those that no index would leave out.

PAIMON_INDEX_PAIRS says how many pairs of a table and a condition are tried for each kind of index.
"""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from support.draws.indexed_tables import TYPES, draw_condition, draw_table
from support.long_runs import run_seed, tries

from paimon_spark.arrow.predicates.evaluate import filter_batch

_CONDITIONS = 25  # of each table


@pytest.mark.parametrize("kind", TYPES)
def test_no_row_is_left_out_wrongly(tmp_path: Path, kind: str) -> None:
    pairs, skipped, selected = tries("PAIMON_INDEX_PAIRS", 25, 3000), 0, 0
    for number in range(-(-pairs // _CONDITIONS)):
        draws = random.Random(f"{run_seed()}-{kind}-{number}")
        drawn = draw_table(draws, kind, tmp_path / str(number))
        (whole,) = drawn.table.scan().to_arrow().combine_chunks().to_batches()
        for _ in range(_CONDITIONS):
            condition = draw_condition(draws, drawn.data_type, drawn.pool)
            scan = drawn.table.scan(where=condition)
            expected = pa.Table.from_batches([filter_batch(condition, whole)])
            assert rows(scan.to_arrow()) == rows(expected), (drawn, condition)
            plan = scan.plan()
            skipped += plan.skipped_by_index
            selected += sum(len(getattr(split, "selections", ())) for split in plan.splits)
    assert skipped or pairs < 1000
    assert selected or pairs < 1000 or kind == "bloom-filter"


def rows(table: pa.Table) -> list[str]:
    """Sorted texts of the rows: NaN equals itself there, and the zeros differ."""
    return sorted(map(repr, table.to_pylist()))
