"""The one time zone of a call: conditions and times are read in it, and times are printed in it, with their offset."""

from __future__ import annotations

import datetime as dt
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from paimon_spark.arrow.zones import LocalZone, session_zone
from paimon_spark.errors import OptionError

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_ZONE: ContextVar[dt.tzinfo] = ContextVar("the zone of a call", default=LocalZone())  # noqa: B039  # it has no state


def current_zone() -> dt.tzinfo:
    """That of ``--time-zone``, else of this machine."""
    return _ZONE.get()


def zone_option() -> Any:
    """The option ``--time-zone`` as every command has it."""
    return typer.main.get_command(_only_zone).params[0]


def iso_time(epoch_millis: int, sep: str = "T", timespec: str = "milliseconds") -> str:
    """An instant in the zone of the call, with its offset: ``2026-11-01T12:30:00.000+01:00``."""
    moment = _EPOCH + dt.timedelta(milliseconds=epoch_millis)
    return moment.astimezone(current_zone()).isoformat(sep=sep, timespec=timespec)


def choose_zone(value: str | None) -> None:
    """Sets the zone of this call by its name; None: that of this machine. Raises BadParameter for an unknown one."""
    try:
        _ZONE.set(LocalZone() if value is None else session_zone(value))
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
