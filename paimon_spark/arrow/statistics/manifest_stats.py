"""Statistics of data files as manifests hold them (format section 6; Java: StatsCollectorFactories).

The file writer supplies the bounds; this module cuts them to the stats mode of each column and encodes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paimon_spark.arrow.statistics.column_stats import ColumnStats
from paimon_spark.errors import OptionError
from paimon_spark.format.binary_row import encode_arity_row
from paimon_spark.format.manifest import SimpleStats
from paimon_spark.format.options.table_settings import ColumnSettings, TableSettings
from paimon_spark.format.options.write_settings import FileSettings
from paimon_spark.format.schema import KEY_PREFIX, ROW_ID, SEQUENCE_NUMBER, VALUE_KIND
from paimon_spark.format.types import DataField

_SURROGATES = (0xD800, 0xE000)
_MAX_CODE_POINT = 0x10FFFF
_UNKNOWN = ColumnStats()


@dataclass(frozen=True, slots=True)
class StatsMode:
    """Which statistics of a column are kept.

    Attributes:
        counts: True if null counts are kept.
        bounds: True if bounds are kept too.
        length: the length that bounds of texts and bytes are cut to; None: they are kept whole.
    """

    counts: bool
    bounds: bool
    length: int | None = None


NONE = StatsMode(counts=False, bounds=False)
COUNTS = StatsMode(counts=True, bounds=False)
FULL = StatsMode(counts=True, bounds=True)
KEY_MODE = StatsMode(counts=True, bounds=True, length=128)


def parse_stats_mode(text: str) -> StatsMode:
    """A mode as options name it: none, counts, full or truncate(n), in any letter case.

    Raises:
        ValueError: the text is none of these.
    """
    lowered = text.strip().lower()
    plain = {"none": NONE, "counts": COUNTS, "full": FULL}.get(lowered)
    if plain is not None:
        return plain
    match = re.fullmatch(r"truncate\((\d+)\)", lowered)
    if match is None or int(match[1]) == 0:
        raise ValueError("expected none, counts, full or truncate(n) with n above 0")
    return StatsMode(counts=True, bounds=True, length=int(match[1]))


def data_stats_mode(settings: TableSettings, level: int, otherwise: StatsMode | None = None) -> StatsMode:
    """The stats mode of data files of a level: of all their columns that have none of their own.

    Args:
        settings: of the table.
        level: for ``metadata.stats-mode.per.level``.
        otherwise: the mode of levels that the option does not name; None: ``metadata.stats-mode``.

    Raises:
        OptionError: an option names no mode.
    """
    text = settings.files.stats_mode_per_level.get(level)
    if text is None and otherwise is not None:
        return otherwise
    return _parsed(FileSettings.stats_mode.key, settings.files.stats_mode if text is None else text)


def changelog_stats_mode(settings: TableSettings) -> StatsMode | None:
    """``changelog-file.stats-mode``; None: as of data files.

    Raises:
        OptionError: it names no mode.
    """
    text = settings.files.changelog_stats_mode
    return None if text is None else _parsed(FileSettings.changelog_stats_mode.key, text)


def stats_modes(
    names: Sequence[str], settings: TableSettings, common: StatsMode, keys: Collection[str] = ()
) -> tuple[StatsMode, ...]:
    """The stats mode of each column of a file.

    Args:
        names: the columns of the file, system columns included.
        settings: of the table: ``fields.<column>.stats-mode`` goes before the common mode.
        common: of the columns that have none of their own.
        keys: the value columns that replace the key columns (thin mode).

    Raises:
        OptionError: an option names no mode.
    """
    first_columns = settings.files.stats_keep_first_n_columns
    modes, columns = [], 0
    for name in names:
        own = settings.column(name)
        if own.stats_mode:
            modes.append(_parsed(own.key(ColumnSettings.stats_mode), own.stats_mode))
        elif name in keys or name.startswith(KEY_PREFIX) or name in (SEQUENCE_NUMBER, VALUE_KIND, ROW_ID):
            modes.append(KEY_MODE)
            continue
        else:
            modes.append(NONE if 0 <= first_columns <= columns else common)
        columns += 1
    return tuple(modes)


def _parsed(key: str, text: str) -> StatsMode:
    try:
        return parse_stats_mode(text)
    except ValueError as error:
        raise OptionError(f"option '{key}' has the value '{text}': {error}") from None


def file_stats(
    fields: Sequence[DataField], modes: Sequence[StatsMode], found: Mapping[str, ColumnStats], dense: bool
) -> tuple[SimpleStats, tuple[str, ...] | None]:
    """The statistics of some columns of a file, and the names of those they cover (None: of all).

    Args:
        fields: the columns, as the file names them.
        modes: the stats mode of each column.
        found: the statistics of the file writer; an absent column has none.
        dense: True leaves out columns without statistics (``metadata.stats-dense-store``); False covers all columns.
    """
    columns = [(field, cut(found.get(field.name, _UNKNOWN), mode)) for field, mode in zip(fields, modes, strict=True)]
    if dense:
        columns = [(field, stats) for field, stats in columns if stats != _UNKNOWN]
    types = [field.type.with_nullable(True) for field, _ in columns]
    covered = tuple(field.name for field, _ in columns)
    stats = SimpleStats(
        encode_arity_row([stats.minimum for _, stats in columns], types),
        encode_arity_row([stats.maximum for _, stats in columns], types),
        tuple(stats.null_count for _, stats in columns),
    )
    return stats, covered if dense and len(covered) < len(fields) else None


def cut(stats: ColumnStats, mode: StatsMode) -> ColumnStats:
    """The statistics that a stats mode keeps. Without an upper bound of the wanted length, both bounds are dropped."""
    if not mode.counts:
        return _UNKNOWN
    low, high = stats.minimum, stats.maximum
    if mode.bounds and mode.length is not None:
        low, high = _cut_low(low, mode.length), _cut_high(high, mode.length)
    if not mode.bounds or low is None or high is None:
        return ColumnStats(None, None, stats.null_count)
    return ColumnStats(low, high, stats.null_count)


def _cut_low(value: Any, length: int) -> Any:
    return value[:length] if isinstance(value, (str, bytes)) else value


def _cut_high(value: Any, length: int) -> Any:
    """The shortest value of at most this length that is not below; None where there is none."""
    if not isinstance(value, (str, bytes)) or len(value) <= length:
        return value
    head = value[:length]
    while head:
        following = _following(head)
        if following is not None:
            return following
        head = head[:-1]
    return None


def _following(head: str | bytes) -> str | bytes | None:
    """The value with its last character or byte one greater; None where that is already the greatest."""
    if isinstance(head, bytes):
        return head[:-1] + bytes([head[-1] + 1]) if head[-1] < 0xFF else None
    point = ord(head[-1]) + 1
    if point == _SURROGATES[0]:
        point = _SURROGATES[1]
    return head[:-1] + chr(point) if point <= _MAX_CODE_POINT else None
