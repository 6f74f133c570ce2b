"""The aggregate functions against models that take one value after the other, on random values, options and orders."""

from __future__ import annotations

import random

import pytest
from support.draws.engine_draw import EXAMPLES
from support.draws.function_columns import FUNCTIONS, comparable, draw_column, draw_steps, fold
from support.oracles.function_model import ModelError, fold_model

from paimon_spark.errors import DataError


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_values_in_any_order(name: str) -> None:
    errors = 0
    for seed in range(EXAMPLES):
        r = random.Random(seed)
        drawn = draw_column(name, r)
        keys = [draw_steps(name, drawn, r) for _ in range(r.choice([1, 3, 20]))]
        try:
            expected = [fold_model(name, drawn.settings, steps) for steps in keys]
        except ModelError:
            errors += 1
            with pytest.raises(DataError, match=f"'c', aggregate function '{name}'"):
                fold(name, drawn, keys, r)
            continue
        found = fold(name, drawn, keys, r)
        for i, (left, right) in enumerate(
            zip(comparable(name, drawn.settings, found), comparable(name, drawn.settings, expected), strict=True)
        ):
            assert left == right, f"seed {seed}, key {i}: {drawn.settings}\n{keys[i]}"
    assert errors < EXAMPLES * 0.6
