"""Which table each message is of, which tables are synchronised, and into which of ours (Java: TableNameConverter)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from paimon_spark.cdc.batches.decoding import Decoding
from paimon_spark.cdc.batches.inferred_columns import columns_text
from paimon_spark.cdc.batches.messages import Messages, read_messages
from paimon_spark.errors import OptionError

DATABASE, TABLE, COLUMNS, KEYS, PROBLEM = "_database", "_table", "_columns", "_keys", "_problem"
ROUTE_FIELDS = (
    pa.field(DATABASE, pa.string()),
    pa.field(TABLE, pa.string()),
    pa.field(COLUMNS, pa.string()),
    pa.field(KEYS, pa.list_(pa.string())),
    pa.field(PROBLEM, pa.string()),
)


def route_batches(batches: Iterable[pa.RecordBatch], decoding: Decoding) -> Iterator[pa.RecordBatch]:
    """The messages with where they belong; those that are ignored are left out.

    Raises:
        DataError: a message is malformed and dead letters are not kept.
    """
    reader = decoding.reader()
    for batch in batches:
        yield _routed(read_messages(batch, decoding, reader), decoding)


def _routed(messages: Messages, decoding: Decoding) -> pa.RecordBatch:
    if messages.problems and not decoding.dead_letters:
        number = min(messages.problems)
        raise messages.failure(number, messages.problems[number])
    said = messages.said
    texts: dict[tuple[object, ...], str] = {}
    columns: list[str | None] = []
    for event in said:
        if event is None:
            columns.append(None)
            continue
        shape = (id(event.columns), *(tuple(image) for _, image in event.rows))
        if shape not in texts:
            texts[shape] = columns_text(event)
        columns.append(texts[shape])
    routes = [
        pa.array([None if event is None else event.database for event in said], pa.string()),
        pa.array([None if event is None else event.table for event in said], pa.string()),
        pa.array(columns, pa.string()),
        pa.array([None if event is None else list(event.keys) for event in said], pa.list_(pa.string())),
        pa.array([messages.problems.get(number) for number in range(len(said))], pa.string()),
    ]
    batch = messages.batch
    schema = pa.schema([*batch.schema, *ROUTE_FIELDS])
    routed = pa.RecordBatch.from_arrays([*batch.columns, *routes], schema=schema)
    ignored = messages.ignored.keys() - messages.problems.keys()
    if not ignored:
        return routed
    return routed.filter(pa.array([number not in ignored for number in range(len(said))], pa.bool_()))


@dataclass(frozen=True)
class TableNames:
    """The choice of tables, and their names.

    Attributes:
        including: a regular expression that the whole name of a table must match.
        excluding: one that it must not match.
        including_databases: the same for the database of the source.
        excluding_databases: the same.
        prefix: stands before the name of the source table.
        suffix: stands after it.
        mapping: names of source tables, and of the table each goes into, without prefix and suffix.
        merge_shards: True: tables of one name in several databases are one table. False: the name of the database and
            an underscore stand before the name of each.
        case_sensitive: False: names are taken in lower case.
    """

    including: str = ".*"
    excluding: str | None = None
    including_databases: str = ".*"
    excluding_databases: str | None = None
    prefix: str = ""
    suffix: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    merge_shards: bool = True
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        """Raises OptionError for a text that is no regular expression."""
        for text in (self.including, self.excluding, self.including_databases, self.excluding_databases):
            try:
                re.compile(text or "")
            except re.error as error:
                raise OptionError(f"'{text}' is no regular expression: {error}") from None

    def takes(self, database: str, table: str) -> bool:
        """True if a table of the source is synchronised."""
        return _chosen(database, self.including_databases, self.excluding_databases) and _chosen(
            table, self.including, self.excluding
        )

    def target(self, database: str, table: str) -> str:
        """The name of the table that the changes of a source table go into."""
        raw = table if self.merge_shards else f"{database}_{table}"
        mapped = self._mapped.get(table.lower())
        if mapped is not None:
            return self._cased(mapped)
        return f"{self.prefix}{self._cased(raw)}{self.suffix}"

    @cached_property
    def _mapped(self) -> dict[str, str]:
        return {name.lower(): target for name, target in self.mapping.items()}

    def _cased(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def _chosen(name: str, including: str, excluding: str | None) -> bool:
    return re.fullmatch(including, name) is not None and (excluding is None or re.fullmatch(excluding, name) is None)
