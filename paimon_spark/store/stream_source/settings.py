"""What the options say of a stream: where it begins, how much it takes at once, what keeps its snapshots.

Options of a stream may be stored in the table, as in the official system, or be given with the read. Those that choose
where it begins must not reach ``open_table``, which would show the schema of that snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.options.engines import ChangelogProducer
from paimon_spark.format.options.option import Option
from paimon_spark.format.options.read_settings import TIME_TRAVEL_OPTIONS, ScanSettings, StreamReadSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.format.options.value_texts import parse_bool, parse_choice
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.metadata.table_options import chain_branches, other_branch
from paimon_spark.store.scan.time_travel import resolved_mode

ON_EXPIRED = Option("scan.on-expired", "fail", parse_choice("fail", "restart"))
"""What a stream does when the snapshots that it reads next have expired. An option of this package alone."""
STREAM = Option("read.stream", False, parse_bool)
"""Says that a read is a stream, where no other option of it does: Spark asks both for their columns in the same way."""

_STREAM_ONLY: tuple[Option[Any], ...] = (
    ON_EXPIRED,
    STREAM,
    StreamReadSettings.consumer_id,
    StreamReadSettings.consumer_mode,
    StreamReadSettings.consumer_ignore_progress,
    StreamReadSettings.discovery_interval,
    StreamReadSettings.snapshot_delay,
    StreamReadSettings.overwrite,
    StreamReadSettings.append_overwrite,
    StreamReadSettings.bounded_watermark,
    StreamReadSettings.max_files,
    StreamReadSettings.max_rows,
    StreamReadSettings.max_bytes,
    StreamReadSettings.min_rows,
    StreamReadSettings.max_delay,
)
_STARTS = {key: option.key for option in TIME_TRAVEL_OPTIONS for key in (option.key, *option.older)}
_BY_LOWER = {option.key.lower(): option.key for option in _STREAM_ONLY} | {k.lower(): k for k in _STARTS}
_NO_STATES = ("incremental", "latest-delta")


@dataclass(frozen=True)
class Limits:
    """How much a stream takes at once; None: no limit. At least one unit is taken, however large.

    Attributes:
        files, rows, bytes: at most so many; rows are those of the files, before a condition.
        least_rows: fewer are not taken before `delay` has passed since the last time.
        delay: milliseconds.
    """

    files: int | None = None
    rows: int | None = None
    bytes: int | None = None
    least_rows: int | None = None
    delay: int | None = None

    @property
    def any_set(self) -> bool:
        return self != Limits()


@dataclass(frozen=True)
class StreamSettings:
    """What the options say of a stream.

    Attributes:
        start: options that choose where it begins, with those of the table.
        limits: how much it takes at once.
        overwrites: whether it shows what an overwrite changed.
        restarts: whether it begins again when the snapshots that it reads next have expired.
        consumer: the id of its consumer; None: nothing keeps snapshots for it.
        ignores_progress: whether a new stream begins elsewhere than where its consumer stands.
        bounded: it reads no snapshot with a higher watermark; None: all.
        delay: milliseconds for which new snapshots are left alone.
        interval: milliseconds between two looks for a new snapshot; None: not set.
    """

    start: TableSettings
    limits: Limits
    overwrites: bool
    restarts: bool
    consumer: str | None
    ignores_progress: bool
    bounded: int | None
    delay: int
    interval: int | None

    @property
    def mode(self) -> str:
        """The scan mode, with `default` resolved."""
        return resolved_mode(self.start)


def split_stream_options(options: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """(options of a stream under their official keys, all other options).

    Args:
        options: of a read, keys in any letter case.
    """
    stream, others = {}, {}
    for key, value in options.items():
        known = _BY_LOWER.get(key.lower())
        if known is None:
            others[key] = value
        else:
            stream[known] = value
    return stream, others


def asks_for_stream(options: Mapping[str, str]) -> bool:
    """True if one of the options is of streams alone, so that a read with it is one."""
    only = {option.key.lower() for option in _STREAM_ONLY}
    return any(key.lower() in only for key in options)


def stream_settings(table: Table, given: Mapping[str, str]) -> StreamSettings:
    """What the options stored in a table and those given with a read say.

    Raises:
        OptionError: an option has a bad value, or options contradict each other or the table.
        UnsupportedFeature: the table is read through two branches.
    """
    settings = table.settings.merged(given)
    mode = resolved_mode(settings)
    if mode in _NO_STATES:
        asked = next((key for key in settings if key.startswith("incremental-")), f"scan.mode' = '{mode}")
        raise OptionError(
            f"streaming from {table.location}: '{asked}' reads a change that ends, and a stream goes on; use "
            "spark.read for it, or begin at a snapshot: 'scan.mode' = 'from-snapshot' with 'scan.snapshot-id'"
        )
    if settings.is_set(ScanSettings.watermark):
        raise OptionError(
            f"streaming from {table.location}: a stream cannot begin at 'scan.watermark', and neither can one of the "
            "official system; give 'scan.snapshot-id' or 'scan.timestamp-millis'"
        )
    _check_producer(table, settings)
    branch = other_branch(table.settings, table.branch)
    if branch is not None and chain_branches(table.settings, table.branch) is None:
        raise UnsupportedFeature(
            f"streaming from {table.location}: its option 'scan.fallback-branch' or 'scan.primary-branch' adds the "
            f"branch '{branch}', and the snapshots of two branches have no order; give both options as '' to stream "
            "its own branch"
        )
    if (
        StreamReadSettings.consumer_id.key in given and not given[StreamReadSettings.consumer_id.key].strip()
    ):  # Java: CoreOptions.consumerId
        raise OptionError(
            f"streaming from {table.location}: '{StreamReadSettings.consumer_id.key}' is empty, so no snapshot would "
            "wait for the stream; give a name, or leave the option out"
        )
    StreamReadSettings.consumer_mode.read(settings)  # a bad value is refused; positions are exact in either mode
    return StreamSettings(
        settings,
        _limits(settings),
        _overwrites(table, settings),
        ON_EXPIRED.read(settings) == "restart",
        settings.stream.consumer_id or None,
        settings.stream.consumer_ignore_progress,
        settings.stream.bounded_watermark,
        settings.stream.snapshot_delay or 0,
        settings.stream.discovery_interval,
    )


def _check_producer(table: Table, settings: TableSettings) -> None:
    """A producer that is named for one read does not make the writers of the table write changelogs.

    Raises:
        OptionError: the stream would wait for changelogs that nobody writes.
    """
    asked, stored = (given.changelog_producer for given in (settings, TableSettings(table.schema.options)))
    if stored == ChangelogProducer.NONE != asked:
        raise OptionError(
            f"streaming from {table.location}: '{TableSettings.changelog_producer.key}' = '{asked}' reads changelogs, "
            "and the "
            "writers of the table write none, so the stream would never see a change; leave the option out, or store "
            "it in the table before rows are written"
        )


def _limits(settings: TableSettings) -> Limits:
    keys = (
        StreamReadSettings.max_files,
        StreamReadSettings.max_rows,
        StreamReadSettings.max_bytes,
        StreamReadSettings.min_rows,
        StreamReadSettings.max_delay,
    )
    for option in keys:
        number = option.read(settings)
        if number is not None and number < 1:
            raise OptionError(f"option '{option.key}' has the value '{number}': expected 1 or more")
    limits = Limits(*(option.read(settings) for option in keys))
    if (limits.least_rows is None) != (limits.delay is None):
        raise OptionError(
            f"'{StreamReadSettings.min_rows.key}' and '{StreamReadSettings.max_delay.key}' are set together or not at "
            "all: the one waits for rows, the other says how long"
        )
    return limits


def _overwrites(table: Table, settings: TableSettings) -> bool:
    """True if overwrites are shown (Java: supportStreamingReadOverwrite, SchemaValidation)."""
    if not table.schema.primary_keys:
        return settings.stream.append_overwrite
    producer = settings.changelog_producer
    shown = settings.stream.overwrite
    if shown and producer in (ChangelogProducer.LOOKUP, ChangelogProducer.FULL_COMPACTION):
        raise OptionError(
            f"streaming from {table.location}: '{StreamReadSettings.overwrite.key}' = 'true' contradicts its changelog "
            f"producer '{producer}', whose changelog has what an overwrite changes: it would come twice; leave it out"
        )
    return shown
