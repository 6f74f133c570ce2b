"""The formats by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from paimon_spark.cdc.encodings import Form
from paimon_spark.cdc.events import Reader, Reading
from paimon_spark.cdc.formats.canal import CanalReader
from paimon_spark.cdc.formats.debezium import DebeziumReader
from paimon_spark.cdc.formats.dms import DmsReader
from paimon_spark.cdc.formats.maxwell import MaxwellReader
from paimon_spark.cdc.formats.mysql_types import TypeMapping
from paimon_spark.cdc.formats.ogg import OggReader
from paimon_spark.errors import OptionError


@dataclass(frozen=True)
class MessageFormat:
    """A format of messages.

    Attributes:
        make: the reader of its messages.
        binary: how bytes are written where a message tells no type.
    """

    make: Callable[[Reading, frozenset[TypeMapping]], Reader]
    binary: Form = Form.BASE64


FORMATS = {
    "debezium-json": MessageFormat(lambda reading, mappings: DebeziumReader(reading)),
    "canal-json": MessageFormat(CanalReader, Form.LATIN1),
    "maxwell-json": MessageFormat(lambda reading, mappings: MaxwellReader(reading)),
    "ogg-json": MessageFormat(lambda reading, mappings: OggReader(reading)),
    "aws-dms-json": MessageFormat(lambda reading, mappings: DmsReader(reading)),
}


def message_format(name: str) -> MessageFormat:
    """The format of a name.

    Raises:
        OptionError: there is none; the message lists the names.
    """
    found = FORMATS.get(name.strip().lower())
    if found is None:
        raise OptionError(f"there is no format '{name}' of change messages; there are {', '.join(FORMATS)}")
    return found
