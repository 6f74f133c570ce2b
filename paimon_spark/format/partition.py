"""Types for partitions and buckets.

Writers encode some nulls differently (format section 5.1), so two different byte strings can mean one partition. A
``Partition`` holds the bytes that this project encodes the values to: equal bytes are equal partitions. Plain ``bytes``
are a partition as a metadata file has it: the same values, but possibly other bytes.
"""

from __future__ import annotations

from typing import NewType, TypeAlias

from paimon_spark.format.manifest import EMPTY_ROW

Partition = NewType("Partition", bytes)
"""An arity-prefixed BinaryRow with the bytes of this project; made by ``canonical_row``."""
NO_PARTITION = Partition(EMPTY_ROW)
"""Of tables without partition columns."""
Place: TypeAlias = tuple[Partition, int]
"""Partition and bucket."""
StoredPlace: TypeAlias = tuple[bytes, int]
"""Partition and bucket as a metadata file has them: two of them may be one place."""
