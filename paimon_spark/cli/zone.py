"""The one time zone of a call: conditions and times are read in it, and times are printed in it, with their offset."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from paimon_spark.arrow.zones import LocalZone, session_zone
from paimon_spark.errors import OptionError
from paimon_spark.store.storage.local_time import SHOWN_ZONE


def current_zone() -> dt.tzinfo:
    """That of ``--time-zone``, else of this machine."""
    return SHOWN_ZONE.get()


def current_zone_name() -> str | None:
    """That zone as Spark takes it: a region, or an offset; None: the zone of this machine."""
    zone = current_zone()
    if isinstance(zone, LocalZone):
        return None
    return zone.key if isinstance(zone, ZoneInfo) else str(zone.tzname(None)).removeprefix("UTC") or "UTC"


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
