"""File indexes with the genuine Java: it leaves out the files that we leave out, by our indexes and by its own.

PAIMON_INDEX_JAVA_TABLES says how many tables of each kind of index are tried, with 25 conditions each.
"""

from __future__ import annotations

import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import java_file_indexes
import pyarrow as pa
import pytest
from genuine import Genuine, table_path
from support.draws.indexed_tables import TYPES, IndexedTable, draw_empty, draw_values, fill
from support.long_runs import run_seed, tries

from paimon_spark.arrow.predicates.evaluate import filter_batch
from paimon_spark.arrow.predicates.predicate import Compare, In, IsNotNull, IsNull, Op, Predicate, and_, or_
from paimon_spark.arrow.types import to_internal
from paimon_spark.store.read.splits import Split
from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop

NO_STATISTICS = {"metadata.stats-mode": "none", "file.format": "parquet"}
OPS = {
    "equal": Op.EQ,
    "notEqual": Op.NE,
    "lessThan": Op.LT,
    "lessOrEqual": Op.LE,
    "greaterThan": Op.GT,
    "greaterOrEqual": Op.GE,
}
V = ("v",)


# Indexes of TIMESTAMP(9) have microseconds. Java takes a greater value of the same microsecond for an equal one, and
# leaves out its row.
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("writer", ["ours", "java"])
def test_the_same_files_are_left_out(java: Genuine, tmp_path: Path, kind: str, writer: str) -> None:
    for number in range(tries("PAIMON_INDEX_JAVA_TABLES", 1, 5)):
        draws = random.Random(f"{run_seed()}-{kind}-{writer}-{number}")
        path = Path(table_path(tmp_path, f"t{number}"))
        drawn = without_wide_values(draw_empty(draws, kind, path, **NO_STATISTICS))
        parts = list(draw_values(draws, drawn, 4))
        if writer == "ours":
            fill(drawn, parts)
        else:
            for values in parts:
                scalars = [pa.scalar(value, drawn.data_type) for value in values]
                java.write(str(path), [(i, to_internal(scalar)) for i, scalar in enumerate(scalars)])
        conditions = [condition(draws, drawn) for _ in range(25)]
        theirs = java.run(java_file_indexes.files_left, str(path), "v", conditions)
        (whole,) = open_table(str(path)).scan().to_arrow().combine_chunks().to_batches()
        for asked, left in zip(conditions, theirs, strict=True):
            predicate = bound(asked)
            scan = open_table(str(path)).scan(where=predicate)
            ours = sorted(f.file_name for split in scan.plan().splits if isinstance(split, Split) for f in split.files)
            rows = sorted(map(repr, scan.to_arrow().to_pylist()))
            assert rows == sorted(map(repr, filter_batch(predicate, whole).to_pylist())), (drawn, asked)
            more = more_is_known_here(kind, asked)
            if drawn.data_type == pa.timestamp("ns"):
                assert more or set(ours) >= set(left), (drawn, asked)
                continue
            assert set(ours) <= set(left), (drawn, asked)
            assert more or ours == left, (drawn, asked)


def without_wide_values(drawn: IndexedTable) -> IndexedTable:
    """Without decimals of more than 63 bits: Java fails to make bit slices of them, and to look for them."""
    return replace(drawn, pool=[value for value in drawn.pool if not isinstance(value, Decimal) or abs(value) < 10**15])


def more_is_known_here(kind: str, asked: java_file_indexes.Condition) -> bool:
    """Java's bitmap index takes rows that are null for ones with another value, and knows nothing of ranges.

    That no value is greater than NaN is known here without an index.
    """
    name, *parts = asked
    if name in ("and", "or"):
        return any(more_is_known_here(kind, part) for part in parts)
    if name in ("greaterThan", "greaterOrEqual", "lessThan", "lessOrEqual") and parts[0] != parts[0]:
        return True
    return kind == "bitmap" and name not in ("equal", "in", "isNull", "isNotNull")


def condition(draws: random.Random, drawn: IndexedTable, depth: int = 1) -> java_file_indexes.Condition:
    """Without zeros of floats, of which Java does not know that they are equal."""
    if depth and draws.random() < 0.3:
        return (draws.choice(["and", "or"]), condition(draws, drawn, 0), condition(draws, drawn, 0))
    literals = [to_internal(pa.scalar(value, drawn.data_type)) for value in drawn.pool]
    literals = [value for value in literals if not (isinstance(value, float) and value == 0)]
    shape = draws.random()
    if shape < 0.1:
        return (draws.choice(["isNull", "isNotNull"]),)
    if shape < 0.25:
        return ("in", *draws.sample(literals, 2))
    return (draws.choice([*OPS, "equal", "equal"]), draws.choice(literals))


def bound(asked: java_file_indexes.Condition) -> Predicate:
    name, *values = asked
    if name in ("and", "or"):
        return (and_ if name == "and" else or_)(*map(bound, values))
    if name in ("isNull", "isNotNull"):
        return IsNull(V) if name == "isNull" else IsNotNull(V)
    return In(V, tuple(values)) if name == "in" else Compare(V, OPS[name], values[0])
