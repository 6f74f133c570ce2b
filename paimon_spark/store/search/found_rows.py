"""What searches for vectors and for texts share: what may be asked, and the rows that are found, with their scores."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.schema import ROW_KIND, SEARCH_SCORE
from paimon_spark.format.types import DataField


def check_search(begin: str, shown: Iterable[DataField], count: int) -> None:
    """Checks what every search asks.

    Args:
        begin: how messages begin.
        shown: the columns of the result.
        count: how many rows are wanted.

    Raises:
        OptionError: none is wanted.
        UnsupportedFeature: the rows are changes.
    """
    if any(each.name == ROW_KIND for each in shown):
        raise UnsupportedFeature(f"{begin}: rows that retract are not searched; leave the column {ROW_KIND} out")
    if count < 1:
        raise OptionError(f"{begin}: {count} rows are asked for; ask for 1 or more", arguments=("count",))


def with_scores(rows: pa.Table, scores: pa.Array) -> pa.Table:
    """The rows with the column SEARCH_SCORE behind the others.

    Args:
        rows: the rows; without columns it is not known how many they are.
        scores: FLOAT, one for each row.
    """
    if not rows.num_columns:
        return pa.table([scores], [SEARCH_SCORE])
    return rows.append_column(SEARCH_SCORE, scores)
