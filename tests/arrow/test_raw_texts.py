"""Arrays that are made of buffers are those that pyarrow makes of the same values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.raw_values import masked, text_array


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]))))
def test_texts(texts: list[str | None]) -> None:
    made = text_array(texts)
    made.validate(full=True)
    assert made == pa.array(texts, pa.string())
    assert made.null_count == texts.count(None)


@given(st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.booleans())))
def test_numbers(rows: list[tuple[int, bool]]) -> None:
    values, absent = np.array([n for n, _ in rows], np.int32), np.array([gone for _, gone in rows], np.bool_)
    for given_values in (values, values > 0):
        made = masked(given_values, absent)
        made.validate(full=True)
        assert made == pa.array(given_values, mask=absent)
        assert made.null_count == absent.sum()
