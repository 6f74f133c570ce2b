"""What is to be made of messages: one value that all tasks get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of_class
from functools import cached_property
from typing import TypedDict

from paimon_spark.cdc.batches.computed_columns import ComputedColumn, computed_columns, name_of
from paimon_spark.cdc.batches.metadata_columns import metadata_column
from paimon_spark.cdc.encodings import Form
from paimon_spark.cdc.events import Reader, Reading
from paimon_spark.cdc.formats.mysql_types import type_mappings
from paimon_spark.cdc.formats.registry import message_format
from paimon_spark.cdc.plain_values import PlainRules
from paimon_spark.errors import OptionError, SchemaError
from paimon_spark.format.types import DataField, DataType, Root

IGNORED = ("tombstone", "heartbeat", "transaction", "schema-change", "bootstrap", "message", "control")
"""The kinds of messages that change no row and are passed over."""
IGNORABLE = (*IGNORED, "truncate")
ROW_KIND, PARTITION, OFFSET, POSITION = "_row_kind", "_partition", "_offset", "_position"
ERROR, VALUE, KEY, TOPIC = "_error", "_value", "_key", "_topic"
ORDER_COLUMNS = (PARTITION, OFFSET, POSITION)
_FORMS = {"base64": Form.BASE64, "hex": Form.HEX, "latin1": Form.LATIN1, "text": Form.PLAIN}
_UNITS = {"millis": Form.MILLIS, "micros": Form.MICROS, "nanos": Form.NANOS}


class DecodingOptions(TypedDict, total=False):
    """What a caller says of how messages are decoded; see Decoding."""

    computed: Sequence[str]
    metadata: Sequence[str]
    metadata_prefix: str
    case_sensitive: bool
    ignore: Sequence[str]
    type_mapping: Sequence[str]
    binary: str
    time_unit: str
    time_zone: str


def decoding_of(format: str, options: DecodingOptions, time_zone: str) -> Decoding:
    """The decoding that a caller wants.

    Args:
        time_zone: if the options name none.

    Raises:
        OptionError: an option is unknown or has a bad value.
    """
    unknown = options.keys() - DecodingOptions.__annotations__.keys()
    if unknown:
        raise OptionError(
            f"'{min(unknown)}' says nothing of decoding; there are {', '.join(DecodingOptions.__annotations__)}"
        )
    message_format(format)
    return Decoding(
        format,
        computed=tuple(options.get("computed", ())),
        metadata=tuple(options.get("metadata", ())),
        metadata_prefix=options.get("metadata_prefix", ""),
        case_sensitive=options.get("case_sensitive", True),
        ignore=tuple(options.get("ignore", ())),
        type_mapping=tuple(options.get("type_mapping", ())),
        binary=options.get("binary"),
        time_unit=options.get("time_unit"),
        time_zone=options.get("time_zone") or time_zone,
    )


@dataclass(frozen=True)
class Decoding:
    """How messages become rows.

    Attributes:
        format: the name of the format.
        fields: the columns that the messages fill.
        keys: the columns of the primary key, if they are known; else those that a message tells count.
        computed: columns made of others, such as ``day=date_format(at, yyyy-MM-dd)``.
        metadata: names of columns that tell where a row comes from.
        metadata_prefix: stands before the names of those columns in the rows.
        case_sensitive: False: names of columns are taken in lower case.
        dead_letters: True: a malformed message becomes a row whose column ``_error`` says what is wrong.
        ignore: kinds of messages that are ignored besides the usual ones: ``truncate``.
        type_mapping: names of choices how types of MySQL are mapped (Java: --type_mapping).
        binary: how bytes are written where a message does not say: base64, hex, latin1 or text; None: as usual in the
            format.
        time_unit: what whole numbers in columns of time count where a message does not say: millis, micros or nanos.
        time_zone: of times without a zone in columns with a local time zone.
        whole: True: a message with a column that is in no field is an error.
    """

    format: str
    fields: tuple[DataField, ...] = ()
    keys: tuple[str, ...] = ()
    computed: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()
    metadata_prefix: str = ""
    case_sensitive: bool = True
    dead_letters: bool = False
    ignore: tuple[str, ...] = ()
    type_mapping: tuple[str, ...] = ()
    binary: str | None = None
    time_unit: str | None = None
    time_zone: str = "UTC"
    whole: bool = field(default=False)

    def __post_init__(self) -> None:
        """Raises OptionError or SchemaError for what does not fit."""
        unknown = [kind for kind in self.ignore if kind not in IGNORABLE]
        if unknown:
            raise OptionError(f"there is no kind of message '{unknown[0]}'; there are {', '.join(IGNORABLE)}")
        for name, value, known in (("binary", self.binary, _FORMS), ("time_unit", self.time_unit, _UNITS)):
            if value is not None and value not in known:
                raise OptionError(f"{name} = '{value}' is not known; there are {', '.join(known)}")
        type_mappings(self.type_mapping)
        names = [column.name for column in self.row_fields] if self.fields else []
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise SchemaError(f"column '{twice[0]}' of the rows would be there twice: name it otherwise")

    def __getstate__(self) -> dict[str, object]:
        """Without what is computed from the attributes: functions do not travel."""
        return {each.name: getattr(self, each.name) for each in fields_of_class(self)}

    @cached_property
    def ignored(self) -> frozenset[str]:
        return frozenset((*IGNORED, *self.ignore))

    @cached_property
    def rules(self) -> PlainRules:
        binary = message_format(self.format).binary if self.binary is None else _FORMS[self.binary]
        unit = None if self.time_unit is None else _UNITS[self.time_unit]
        return PlainRules(binary, unit, self.time_zone)

    @cached_property
    def computed_columns(self) -> tuple[ComputedColumn, ...]:
        return computed_columns(self.computed, self.fields)

    @cached_property
    def row_fields(self) -> tuple[DataField, ...]:
        """The columns of the rows: those of the messages, computed ones, those of the metadata."""
        in_order = sorted(self.computed_columns, key=lambda column: column.place)
        computed = [DataField(0, column.name, column.type) for column in in_order]
        metadata = [DataField(0, f"{self.metadata_prefix}{n}", metadata_column(n).type) for n in self.metadata]
        return (*self.fields, *computed, *metadata)

    @cached_property
    def all_fields(self) -> tuple[DataField, ...]:
        """The columns of the rows, and after them what says how they follow each other."""
        text, number = DataType(Root.VARCHAR, length=2**31 - 1), DataType(Root.INT)
        following = [(ROW_KIND, text), (PARTITION, number), (OFFSET, DataType(Root.BIGINT)), (POSITION, number)]
        if self.dead_letters:
            following += [(ERROR, text), (VALUE, text), (KEY, text), (TOPIC, text)]
        return (*self.row_fields, *(DataField(0, name, data_type) for name, data_type in following))

    def for_columns(self, fields: Sequence[DataField], keys: Sequence[str]) -> Decoding:
        """The same for the columns and the key of a table, which also has the computed columns and the metadata."""
        made = {name_of(text) for text in self.computed} | {f"{self.metadata_prefix}{name}" for name in self.metadata}
        mine = tuple(replace(f, type=f.type.with_nullable(True)) for f in fields if f.name not in made)
        return replace(self, fields=mine, keys=tuple(keys))

    def reader(self) -> Reader:
        """A new reader of the messages."""
        found = message_format(self.format)
        keys = self.keys if self.case_sensitive else tuple(key.lower() for key in self.keys)
        return found.make(Reading(keys, self.case_sensitive), type_mappings(self.type_mapping))
