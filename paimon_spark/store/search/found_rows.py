"""The rows that a search has found, with their scores."""

from __future__ import annotations

import pyarrow as pa

from paimon_spark.format.schema import SEARCH_SCORE


def with_scores(rows: pa.Table, scores: pa.Array) -> pa.Table:
    """The rows with the column SEARCH_SCORE behind the others.

    Args:
        rows: the rows; without columns it is not known how many they are.
        scores: FLOAT, one for each row.
    """
    if not rows.num_columns:
        return pa.table([scores], [SEARCH_SCORE])
    return rows.append_column(SEARCH_SCORE, scores)
