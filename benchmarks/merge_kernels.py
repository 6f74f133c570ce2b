"""The merge kernels alone, keys in memory: ``python benchmarks/merge_kernels.py``. For finding out, not for goals.

Nanoseconds per input row for one window of each key shape: "skewed" is a big run under eight small ones, "even" eight
runs of one size, each row in nearly two of them. Both pieces of work are timed that a merged read can need: the mask of
the newest rows, and rows grouped by key with the greatest sequence number picked.
"""

from __future__ import annotations

from collections.abc import Sequence

import data
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from measure import fastest

from paimon_spark.merge.keys.key_words import key_columns
from paimon_spark.merge.keys.row_order import merge_criteria
from paimon_spark.merge.keys.window import MergeSpec, Piece, Window
from paimon_spark.merge.keys.winners import group_rows, last_rows, pick_last

BY_SEQUENCE = MergeSpec((), has_kind=False)


def runs(kind: str) -> list[npt.NDArray[np.int64]]:
    """Ascending numbers, distinct within each run."""
    draw = np.random.default_rng(7)
    if kind == "skewed":
        return [np.arange(65536), *(np.sort(draw.choice(65536, 2600, replace=False)) for _ in range(8))]
    return [np.sort(draw.choice(34000, 8000, replace=False)) for _ in range(8)]


def window(shape: str, kind: str) -> Window:
    """One window whose sequence numbers say nothing about the age of its runs."""
    draw = np.random.default_rng(8)
    names = data.KEYS[shape]
    pieces = []
    for numbers in runs(kind):
        columns = data.key_columns(shape, numbers)
        columns["_SEQUENCE_NUMBER"] = pa.array(draw.integers(0, 10**7, len(numbers)))
        rows = pa.RecordBatch.from_pydict(columns)
        rows = rows.sort_by([(name, "ascending") for name in names])
        pieces.append(Piece(rows, key_columns(rows, names)))
    return Window(tuple(pieces))


def newest(rows: Window) -> npt.NDArray[np.bool_]:
    return last_rows(rows.words(), rows.starts)


def greatest_sequence(rows: Window) -> Sequence[int]:
    return pick_last(group_rows(rows.words()), merge_criteria(rows, BY_SEQUENCE, None))


def main() -> None:
    print(f"{'keys':14}{'runs':10}{'newest':>10}{'sequence':>10}   ns per row")
    for shape in data.KEYS:
        for kind in ("skewed", "even"):
            rows = window(shape, kind)
            seconds = fastest({"newest": lambda w=rows: newest(w), "sequence": lambda w=rows: greatest_sequence(w)}, 20)
            newest_ns, sequence_ns = (seconds[name] / rows.row_count * 1e9 for name in ("newest", "sequence"))
            print(f"{shape:14}{kind:10}{newest_ns:10.1f}{sequence_ns:10.1f}", flush=True)


if __name__ == "__main__":
    main()
