"""The arguments that commands share: the table that they name, and the zone in which times are read and printed."""

from __future__ import annotations

import datetime as dt
import re
import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from paimon_spark.arrow.zones import LocalZone, Region, session_zone
from paimon_spark.errors import OptionError, SnapshotNotFound
from paimon_spark.format.options.read_settings import ScanSettings
from paimon_spark.format.options.table_settings import TableSettings
from paimon_spark.store.history.tags import duration_millis
from paimon_spark.store.holds.retention import epoch_millis
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.open import find_stored_table, open_data_table
from paimon_spark.store.scan.time_travel import refuse_second_state, resolve_snapshot
from paimon_spark.store.storage.local_time import SHOWN_ZONE, moment_at, moment_before_now, parse_local_timestamp


class Output(StrEnum):
    """How a result is printed: for people, or for programs."""

    TEXT = "text"
    JSON = "json"


class RowsOutput(StrEnum):
    """How rows are printed: for people, for programs, or for spreadsheets and databases."""

    TEXT = "text"
    JSON = "json"
    CSV = "csv"


TablePath = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        show_default=False,
        help="The table directory, a local path or a URI; PATH$branch_x is its branch x.",
    ),
]
Branch = Annotated[str | None, typer.Option("--branch", metavar="NAME", help="A branch of the table.")]
TableOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="KEY=VALUE",
        show_default=False,
        help="A table option for this call, or a storage option such as s3.endpoint=...; may be given several times.",
    ),
]
OutputFormat = Annotated[Output, typer.Option("--output", help="How to print the result.")]
RowsFormat = Annotated[RowsOutput, typer.Option("--output", help="How to print the rows.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="STATE",
        show_default=False,
        help="A snapshot id, a tag, or a time such as '2026-11-01 12:00' (see --time-zone): the state then.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B", show_default=False, help="Only these columns, in this order."),
]
Where = Annotated[
    str | None,
    typer.Option("--where", metavar="SQL", show_default=False, help="Only rows for which this is true."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell what would go.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def at_most_maxsize(limit: int | None) -> int | None:
    """A number of rows, as far as Python and Arrow can count them."""
    return None if limit is None else min(limit, sys.maxsize)


def parse_options(pairs: Sequence[str] | None, branch: str | None = None) -> dict[str, str]:
    """The options of a call, that of the branch among them."""
    found = parse_pairs(pairs)
    return found if branch is None else {**found, TableSettings.branch.key: branch}


def parse_pairs(pairs: Sequence[str] | None, flag: str = "--option", key_name: str = "KEY") -> dict[str, str]:
    """What a flag was given, ``KEY=VALUE`` each time. key_name: what the help calls the key."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"expected {key_name}=VALUE, found '{pair}'", param_hint=f"'{flag}'")
        if key in found:
            raise typer.BadParameter(f"'{key}' is given twice; give it once", param_hint=f"'{flag}'")
        found[key] = value
    return found


def parse_columns(text: str | None) -> list[str] | None:
    """The names between commas; None: all."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("no column is named", param_hint="'--columns'")
    return names


def open_with(path: str, option: Sequence[str] | None, branch: str | None) -> Table:
    """The table of a call, in its time zone.

    Raises:
        TableNotFound: the location has no table; the message says what was found there.
        OptionError: an option is unknown, has a bad value or contradicts the table.
        UnsupportedFeature: the table uses a feature this release cannot read.
        SnapshotNotFound: an option names a snapshot, tag, time or branch that does not exist.
    """
    return open_data_table(path, parse_options(option, branch), time_zone=current_zone())


def state_options(path: str, options: dict[str, str], at: str | None) -> dict[str, str]:
    """The scan options that choose a state: a tag of that name, else a snapshot id, else a time.

    Raises:
        OptionError: it is none of these, or an option chooses a state too.
    """
    if at is None:
        return {}
    refuse_second_state("--at", options)
    table = find_stored_table(path, options)
    if table is not None and table.snapshots.find_tag(at) is not None:
        return {ScanSettings.tag_name.key: at}
    if at.isascii() and at.isdigit():
        return {ScanSettings.snapshot_id.key: at}
    try:
        millis = parse_local_timestamp(at, zone=current_zone())
    except OptionError:
        there = "" if table is None else f"; {table.snapshots.available()}"
        raise OptionError(
            f"'{at}' is neither a tag of the table, nor a snapshot id, nor a time such as 2026-11-01 12:00{there}"
        ) from None
    return {ScanSettings.timestamp_millis.key: str(millis)}


_AGE = re.compile(r"[0-9]+ *[A-Za-z]+")


def parse_older_than(text: str | None, argument: str = "older_than") -> dt.datetime | None:
    """A time in the zone of the call; a length of time such as "7 d" is so long before now.

    Raises:
        OptionError: it is neither; the message names the argument.
    """
    if text is None:
        return None
    zone = current_zone()
    if _AGE.fullmatch(text.strip()):
        return moment_before_now(duration_millis(text, argument), zone)
    try:
        return moment_at(epoch_millis(text, argument, zone), zone)
    except OptionError:
        raise OptionError(
            f"{argument} is '{text}': expected a time such as 2026-11-01 12:30:00, or an age such as 7 d",
            arguments=(argument,),
        ) from None


def tag_or_snapshot(path: str, options: dict[str, str], state: str) -> tuple[str | None, int | None]:
    """A state as (tag, None) if a tag has that name, else as (None, id of its snapshot).

    Raises:
        OptionError: it is neither a tag, nor a snapshot id, nor a time.
        SnapshotNotFound: the state does not exist.
    """
    if open_data_table(path, options).snapshots.find_tag(state) is not None:
        return state, None
    return None, snapshot_id(path, options, state)


def snapshot_id(path: str, options: dict[str, str], at: str | None) -> int:
    """The snapshot of a state; None: the latest one.

    Raises:
        SnapshotNotFound: the state does not exist.
    """
    table = open_data_table(path, options)
    snapshot = resolve_snapshot(table.settings.merged(state_options(path, options, at)), table.snapshots).snapshot
    if snapshot is None:
        raise SnapshotNotFound(f"the table at {table.location} has no snapshot")
    return snapshot.id


def current_zone() -> dt.tzinfo:
    """That of ``--time-zone``, else of this machine."""
    return SHOWN_ZONE.get()


def current_zone_name() -> str | None:
    """That zone as Spark takes it: a region, or an offset; None: the zone of this machine."""
    zone = current_zone()
    if isinstance(zone, LocalZone):
        return None
    return zone.key if isinstance(zone, Region) else str(zone.tzname(None)).removeprefix("UTC") or "UTC"


def zone_option() -> Any:
    """The option ``--time-zone`` as every command has it."""
    return typer.main.get_command(_only_zone).params[0]


def choose_zone(value: str | None) -> None:
    """Sets the zone of this call by its name; None: that of this machine. Raises BadParameter for an unknown one."""
    try:
        SHOWN_ZONE.set(LocalZone() if value is None else session_zone(value))
    except OptionError as error:
        raise typer.BadParameter(str(error), param_hint="'--time-zone'") from None


_only_zone = typer.Typer(add_completion=False)


@_only_zone.command()
def _nothing(
    zone: Annotated[
        str | None,
        typer.Option(
            "--time-zone",
            metavar="ZONE",
            show_default=False,
            expose_value=False,
            callback=choose_zone,
            help="The zone of all times given and printed, such as Europe/Berlin or +01:00; else that of this machine.",
        ),
    ] = None,
) -> None: ...
