"""The smallest and largest keys of data files, from their metadata."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from paimon_spark.errors import CorruptFile
from paimon_spark.format.binary_row import arity_row_decoder
from paimon_spark.format.manifest import DataFileMeta
from paimon_spark.format.types import DataType
from paimon_spark.merge.keys.key_order import SortKey, sort_key_of


def key_range_of(key_types: Sequence[DataType]) -> Callable[[DataFileMeta], tuple[SortKey, SortKey]]:
    """A function that returns the first and the last key of a data file.

    It raises CorruptFile, naming the file, for a key that does not decode, or holds a null.

    Args:
        key_types: the types of the trimmed primary key.
    """
    decode, make = arity_row_decoder(key_types), sort_key_of(key_types)

    def key(row: bytes, file: DataFileMeta) -> SortKey:
        try:
            values = decode(row)
        except CorruptFile as error:
            raise _damaged(file, str(error)) from None
        if None in values:
            raise _damaged(file, "it holds a null")
        return make(values)

    def key_range(file: DataFileMeta) -> tuple[SortKey, SortKey]:
        first = key(file.min_key, file)
        return first, first if file.max_key == file.min_key else key(file.max_key, file)

    return key_range


def _damaged(file: DataFileMeta, why: str) -> CorruptFile:
    return CorruptFile(
        f"the smallest or largest key that a manifest records of the data file {file.file_name} is none: {why}; the "
        "manifest is damaged and must be restored"
    )
