"""Shares the units of a micro-batch among tasks.

The changes of one key are in one bucket, and one task reads them in their order: what a task passes on can be applied
as it comes. Units of a state, and of tables without keys and buckets, need no order and are shared evenly.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

from paimon_spark.store.metadata.live_files import canonical_row
from paimon_spark.store.metadata.table import BucketMode, Table
from paimon_spark.store.read.splits import Split, fair_bins, weight_of
from paimon_spark.store.stream_source.units import Kinds, StreamUnit

Task: TypeAlias = tuple[StreamUnit, ...]


def share_units(table: Table, units: Sequence[StreamUnit]) -> list[Task]:
    """The units in groups of about `source.split.target-size`, one for each task."""
    ordered = table.bucket_mode is not BucketMode.BUCKET_UNAWARE and any(u.kinds is not Kinds.STATE for u in units)
    if not ordered:
        return _groups(table, [(unit,) for unit in units])
    of_bucket: dict[tuple[bytes, int], list[StreamUnit]] = {}
    types = table.schema.partition_types
    for unit in units:
        split = unit.split
        assert isinstance(split, Split), "the units of changes are files of one bucket"
        of_bucket.setdefault((canonical_row(split.partition, types), split.bucket), []).append(unit)
    return _groups(table, [tuple(found) for found in of_bucket.values()])


def _groups(table: Table, shares: Sequence[Task]) -> list[Task]:
    """Neighbouring shares in groups of a good size; a share is never divided."""
    target = table.settings.scan.split_target_size
    cost = table.settings.scan.open_file_cost
    weights = [sum(weight_of(unit.split, cost) for unit in share) for share in shares]
    return [tuple(chain.from_iterable(shares[start:end])) for start, end in fair_bins(weights, target, cost)]
