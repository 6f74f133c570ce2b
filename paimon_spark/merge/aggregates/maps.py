"""``merge_map`` (Java: FieldMergeMapAgg): the entries of all maps; of equal keys the last entry stays.

A retracted map removes its keys, whatever their values are. A null map does not count.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from paimon_spark.format.types import DataType, Root
from paimon_spark.merge.aggregates.elements import elements_of
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs
from paimon_spark.merge.aggregates.parts import fold_rest, has_value, only_seeds


def merged_map(fold: Fold) -> pa.Array:
    """The map of each key."""
    return fold_rest(fold, only_seeds(fold), _merge)


def _merge(fold: Fold) -> pa.Array:
    entries = elements_of(fold)
    stays = np.zeros(len(entries.items), np.bool_)
    groups = entries.group(entries.columns())
    lasts = groups.order[np.append(groups.starts[1:], len(stays)) - 1] if len(stays) else groups.order
    stays[lasts] = True
    if entries.retracted is not None:
        stays &= ~entries.retracted
    return entries.collect(stays, has_value(fold))


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    return None if data_type.root is Root.MAP else "needs a MAP"


SPECS: Specs = {"merge_map": AggregateSpec(merged_map, _objection, retracts=True)}
