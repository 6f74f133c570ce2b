"""``row-deduplicate``: which values Java finds equal, of every type, so that they make no changelog."""

from __future__ import annotations

import itertools
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import our_engine
import pytest
from genuine import Genuine, table_path
from support.tables.compacting import compact

from paimon_spark import open_table

pytestmark = pytest.mark.interop

NAN = float("nan")
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "FLOAT": ("FLOAT", [0.0, -0.0, NAN, 1.5, None]),
    "DOUBLE": ("DOUBLE", [0.0, -0.0, NAN, float("inf"), None]),
    "STRING": ("STRING", ["", "a", "a\0", "é", None]),
    "BYTES": ("BYTES", [b"", b"\0", None]),
    "DECIMAL": ("DECIMAL(30, 2)", [Decimal("0.00"), Decimal("-0.01"), Decimal("99999999999999999999.25"), None]),
    "TIMESTAMP": ("TIMESTAMP(6)", [-1000, 0, 10**15, None]),
    "ARRAY<INT>": ({"type": "ARRAY", "element": "INT"}, [[], [1], [1, 2], [2, 1], None]),
    "ARRAY<DOUBLE>": ({"type": "ARRAY", "element": "DOUBLE"}, [[NAN], [0.0], [-0.0], [1.0, NAN]]),
    "ARRAY<INT>, nulls": ({"type": "ARRAY", "element": "INT"}, [[None], [1, None], [None, 1], []]),
    "ARRAY<ARRAY<INT>>": (
        {"type": "ARRAY", "element": {"type": "ARRAY", "element": "INT"}},
        [[[1], [2]], [[1], [None]], [[1], None], [], [[]]],
    ),
    "MAP": (
        {"type": "MAP", "key": "STRING", "value": "INT"},
        [(), (("a", 1),), (("a", 1), ("b", 2)), (("b", 2), ("a", 1)), None],
    ),
    "MAP, nulls": (
        {"type": "MAP", "key": "STRING", "value": "INT"},
        [(("a", None),), (("a", 1),), (("a", None), ("b", 1))],
    ),
    "MAP<DOUBLE>": ({"type": "MAP", "key": "INT", "value": "DOUBLE"}, [((1, NAN),), ((1, 0.0),), ((1, -0.0),)]),
    "ROW": (
        {"type": "ROW", "fields": [{"name": "x", "type": "DOUBLE"}, {"name": "y", "type": "STRING"}]},
        [(NAN, None), (0.0, None), (-0.0, None), (None, None), (1.0, "a"), None],
    ),
    "ROW of a list": (
        {"type": "ROW", "fields": [{"name": "x", "type": {"type": "ARRAY", "element": "INT"}}]},
        [([1],), ([None],), ([],), (None,), None],
    ),
}


@pytest.mark.parametrize("producer", ["full-compaction", "lookup"])
def test_equal_values_make_no_changelog(producer: str, java: Genuine, tmp_path: Path) -> None:
    options = {
        "bucket": "1",
        "write-only": "true",
        "changelog-producer": producer,
        "changelog-producer.row-deduplicate": "true",
    }
    ours, javas = table_path(tmp_path, "ours"), table_path(tmp_path, "javas")
    columns = {f"v{i}": data_type for i, (data_type, _) in enumerate(VALUES.values())}
    java.create(ours, {"k": "STRING NOT NULL", **columns}, ["k"], [], options)
    pairs = [
        (f"{name} {number}", place, pair)
        for place, (name, (_, values)) in enumerate(VALUES.items())
        for number, pair in enumerate(itertools.product(values, values))
    ]
    for side in (0, 1):  # what was, what is
        rows = [(key, *(pair[side] if i == place else None for i in range(len(columns)))) for key, place, pair in pairs]
        java.write(ours, rows)
        shutil.rmtree(javas, ignore_errors=True)
        shutil.copytree(ours, javas)
        compact(open_table(ours), full=True)
        java.compact(javas, full=True)
    changes = [sorted(map(repr, our_engine.changelog(path))) for path in (ours, javas)]
    assert changes[0] == changes[1]
    assert len(pairs) < len(changes[0]) < 3 * len(pairs)
