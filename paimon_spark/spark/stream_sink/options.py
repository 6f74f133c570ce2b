"""The options of a stream into a table, apart from those that every write has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_spark.errors import OptionError
from paimon_spark.format.options.option import MB, Option, Settings
from paimon_spark.format.options.value_texts import parse_duration, parse_memory, parse_text
from paimon_spark.spark.adapters.options import write_options
from paimon_spark.store.stream_sink.batch import UnknownBatch
from paimon_spark.writes.options import (
    DYNAMIC_OVERWRITE,
    OVERWRITE_SCHEMA,
    OVERWRITE_WHERE,
    UNKNOWN_BATCH,
    WriteOptions,
)

COMMIT_USER: Option[str | None] = Option("write.stream.commit-user", None, parse_text)
COMPACT_BUDGET = Option("write.stream.compact-budget", 256 * MB, parse_memory)
WATERMARK_COLUMN: Option[str | None] = Option("watermark-column", None, parse_text)
WATERMARK_DELAY = Option("watermark-delay", 0, parse_duration)

_OWN = (COMMIT_USER, COMPACT_BUDGET, WATERMARK_COLUMN, WATERMARK_DELAY)
_CHECKPOINT = "checkpointlocation"
_OF_SPARK = (_CHECKPOINT, "queryname")


@dataclass(frozen=True)
class StreamOptions:
    """What ``df.writeStream.format("paimon")`` was given.

    Attributes:
        write: what every write has.
        commit_user: in the place of one made from the query id; None: none is given.
        checkpoint: where the query keeps its state.
        compact_budget: how many bytes the compaction after a batch may read.
        watermark_column: of the rows; the greatest value becomes the watermark of the snapshot. None: none does.
        watermark_delay: milliseconds that the watermark stays behind that value.
    """

    write: WriteOptions
    commit_user: str | None
    checkpoint: str | None
    compact_budget: int
    watermark_column: str | None
    watermark_delay: int

    @property
    def unknown(self) -> UnknownBatch:
        """What to do with a batch of which nobody can tell whether it is in the table."""
        return UnknownBatch(self.write.unknown)


def stream_options(options: Mapping[str, str]) -> StreamOptions:
    """The options of a stream.

    Raises:
        OptionError: as for write_options; or an option that says what an overwrite replaces, which a stream has not.
    """
    own = {option.key: option for option in _OWN}
    mine = {key.lower(): value for key, value in options.items() if key.lower() in own}
    of_spark = {key.lower(): value for key, value in options.items() if key.lower() in _OF_SPARK}
    rest = {key: value for key, value in options.items() if key.lower() not in own and key.lower() not in _OF_SPARK}
    for key in rest:
        if key.lower() in (DYNAMIC_OVERWRITE, OVERWRITE_WHERE, OVERWRITE_SCHEMA):
            raise OptionError(
                f"the option '{key}' says what a batch job overwrites; a stream in the mode complete replaces all "
                "rows. For other overwrites use foreachBatch and PaimonTable.overwrite(df, ..., once=(name, batch_id))"
            )
    write = write_options(rest, save="start")
    if write.once is not None:
        raise OptionError(
            "'once.application' and 'once.version' name one write; a stream names its batches itself. "
            f"'{COMMIT_USER.key}' gives it another name"
        )
    values = Settings(mine)
    user, column = COMMIT_USER.read(values), WATERMARK_COLUMN.read(values)
    if user is not None and not user.strip():
        raise OptionError(f"'{COMMIT_USER.key}' is empty: give a name, or leave the option out")
    if column is None and WATERMARK_DELAY.key in mine:
        raise OptionError(f"'{WATERMARK_DELAY.key}' needs '{WATERMARK_COLUMN.key}', the column with the event time")
    budget, delay = COMPACT_BUDGET.read(values), WATERMARK_DELAY.read(values)
    return StreamOptions(write, user, of_spark.get(_CHECKPOINT), budget, column, delay)


__all__ = ["COMMIT_USER", "UNKNOWN_BATCH", "StreamOptions", "stream_options"]
