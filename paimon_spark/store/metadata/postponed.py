"""Postponed files (bucket -2) of a table: their order, and the number of buckets that their rows need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from paimon_spark.errors import OptionError
from paimon_spark.format.manifest import DataFileMeta, FileKind, ManifestEntry
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.write_settings import PostponeSettings
from paimon_spark.format.paths import POSTPONE_BUCKET

N = TypeVar("N", int, int | None)


_NAME = re.compile(r"-u-(?P<user>.*)-s-(?P<writer>\d+)-w-(?P<uuid>.*)-(?P<number>\d+)\.[^-]*")


@dataclass(frozen=True, order=True)
class WritePlace:
    """The position of a postponed file in write order.

    The files of one batch commit of this project have one creation time, so the number of their task is compared next;
    a writer of the official system creates one file after the other.
    """

    creation_time: int
    user: str
    writer: int
    uuid: str
    number: int


def write_place(file: DataFileMeta) -> WritePlace:
    """The position of a postponed file among all postponed files of its partition."""
    found = _NAME.search(file.file_name)
    if found is None:
        return WritePlace(file.creation_time or 0, "", 0, file.file_name, 0)
    writer, number = int(found["writer"]), int(found["number"])
    return WritePlace(file.creation_time or 0, found["user"], writer, found["uuid"], number)


def in_write_order(files: Iterable[DataFileMeta]) -> list[DataFileMeta]:
    """Postponed files of one partition in write order: the rows of a later file are newer."""
    return sorted(files, key=write_place)


def created_at(entries: Sequence[ManifestEntry], millis: int) -> tuple[ManifestEntry, ...]:
    """The entries with the time of the commit as creation time of new postponed files, so that later commits are newer.

    Args:
        entries: the changes of a commit; all entries but those of new postponed files stay unchanged.
        millis: creation time, as local wall time.
    """
    return tuple(
        e._replace(file=e.file._replace(creation_time=millis))
        if e.bucket == POSTPONE_BUCKET and e.kind == FileKind.ADD
        else e
        for e in entries
    )


def bucket_number(rows: int, size: int, settings: TableSettings) -> int:
    """The number of buckets of a partition that has none yet (features 2.2).

    It is the option ``postpone.default-bucket-num``, or else the number that the postponed rows or bytes need, rounded
    to a power of two, at most ``postpone.batch-write-fixed-bucket.max-parallelism`` (Java:
    PostponeUtils.decideFixedBucketNum).

    Args:
        rows, size: the rows and bytes of the postponed files.
        settings: the options of the table, with postpone.*.

    Raises:
        OptionError: one of these options is not positive.
    """
    given = positive(settings, PostponeSettings.default_bucket_num)
    if given is not None:
        return given
    most = positive(settings, PostponeSettings.max_parallelism)
    return min(1 << (min(needed_buckets(rows, size, settings), most) - 1).bit_length(), most)


def needed_buckets(rows: int, size: int, settings: TableSettings) -> int:
    """The number of buckets of the target size that the rows fill.

    Args:
        rows, size: the rows and bytes of the postponed files.
        settings: the options of the table, with postpone.*.

    Raises:
        OptionError: one of these options is not positive.
    """
    target_rows = positive(settings, PostponeSettings.target_row_num)
    if target_rows is not None:
        return max(1, -(-rows // target_rows))
    return max(1, -(-size // positive(settings, PostponeSettings.target_size)))


def positive(settings: TableSettings, option: Option[N]) -> N:
    """The value of an option that must be above 0, or None if it has none.

    Raises:
        OptionError: the value is not above 0.
    """
    value = option.read(settings)
    if value is not None and value <= 0:
        raise OptionError(f"the option '{option.key}' is {value}: it must be above 0")
    return value
