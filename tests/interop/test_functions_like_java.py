"""Our aggregate functions against genuine Java's own: the same random columns, options and values.

``PAIMON_JAVA_FUNCTIONS`` sets how many columns of each function are tried.
"""

from __future__ import annotations

import random

import pytest
from genuine import Genuine, JavaFailure
from java_values import from_java, options_of, to_java
from support.draws.function_columns import FUNCTIONS, Drawn, comparable, draw_column, draw_steps, fold
from support.long_runs import tries

from paimon_spark.errors import DataError
from paimon_spark.format.type_text import format_type
from paimon_spark.format.types import BINARIES, Root

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_JAVA_FUNCTIONS", ci=12, long=40)
KEYS = 20


def differs_by_design(name: str, drawn: Drawn) -> bool:
    """Java 2.0.0 compares byte arrays by identity, and finds no arrays or maps equal that have nulls in them."""
    t = drawn.settings.type
    if name == "collect":
        return t.inner.root in BINARIES or (t.inner.root in (Root.ARRAY, Root.MAP) and drawn.settings.distinct)
    return t.root is Root.MAP and t.key_type.root in BINARIES


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_values_as_java_folds_them(name: str, java: Genuine) -> None:
    tried = 0
    for seed in range(COUNT):
        r = random.Random(seed)
        drawn = draw_column(name, r)
        if differs_by_design(name, drawn):
            continue
        tried += 1
        s, keys = drawn.settings, [draw_steps(name, drawn, r) for _ in range(KEYS)]
        steps = [[(what, to_java(value, s.type)) for what, value in key] for key in keys]
        results = java.fold(name, format_type(s.type), options_of(s), steps)
        for key, result in zip(keys, results, strict=True):
            what = f"seed {seed}: {s}\n{key}"
            if isinstance(result, JavaFailure):
                if "NullPointerException" in result.message:  # of distinct rows with a null among them
                    continue
                with pytest.raises(DataError):
                    fold(name, drawn, [key], r)
                continue
            try:
                found = fold(name, drawn, [key], r)
            except DataError:  # Java has null for a DECIMAL that does not fit
                assert s.type.root is Root.DECIMAL, what
                continue
            assert comparable(name, s, found) == comparable(name, s, [from_java(result, s.type)]), what
    assert tried
