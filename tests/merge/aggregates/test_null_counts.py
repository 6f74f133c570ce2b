"""Which aggregate functions a null makes no difference to: said by their specs, shown by folding with and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from support.draws.function_columns import INT, PAIR, STRING, row_type

from paimon_spark.arrow.types import arrow_type
from paimon_spark.format.types import MAX_LENGTH, DataType, Root
from paimon_spark.merge.aggregates.frame import FieldOptions
from paimon_spark.merge.aggregates.registry import AGGREGATES, aggregate_for

BYTES = DataType(Root.VARBINARY, length=MAX_LENGTH)
TIMED = DataType(Root.MAP, key=STRING.with_nullable(False), element=row_type(v=INT, t=STRING))
# A value of a column for each function, another than null and not changed by being folded alone.
VALUES: dict[str, tuple[DataType, Any]] = {
    "bool_and": (DataType(Root.BOOLEAN), True),
    "bool_or": (DataType(Root.BOOLEAN), False),
    "listagg": (STRING, "a"),
    "collect": (DataType(Root.ARRAY, element=INT), [1, 1]),
    "merge_map": (DataType(Root.MAP, key=STRING.with_nullable(False), element=INT), [("a", 1)]),
    "merge_map_with_keytime": (TIMED, [("a", {"v": 1, "t": "2"})]),
    "nested_update": (DataType(Root.ARRAY, element=PAIR), [{"a": 1, "b": "x"}]),
    "nested_partial_update": (DataType(Root.ARRAY, element=PAIR), [{"a": 1, "b": "x"}]),
    **dict.fromkeys(("hll_sketch", "theta_sketch", "rbm32", "rbm64"), (BYTES, b"a lone value is not looked at")),
}


@pytest.mark.parametrize("name", sorted(AGGREGATES))
def test_a_null_before_or_after_a_value(name: str) -> None:
    data_type, value = VALUES.get(name, (INT, 7))
    function = aggregate_for("c", name, data_type, FieldOptions(nested_key=("a",)))
    folded = [
        function.fold(pa.array(values, arrow_type(data_type)), np.zeros(1, np.int64)).to_pylist()
        for values in ([value], [value, None], [None, value])
    ]
    assert folded[0] == [value]
    assert (folded != [[value]] * 3) is function.spec.null_counts
