"""Types for partitions and buckets.

Writers differ in the bytes that they give to some nulls (format section 5.1), so that two rows of bytes can mean one
partition. A ``Partition`` holds the bytes that this project gives to the values: equal bytes are equal partitions.
``bytes`` are a partition as a metadata file has it, with the same values but maybe other bytes.
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
