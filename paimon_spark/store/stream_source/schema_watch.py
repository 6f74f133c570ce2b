"""Notices that the columns of a table change while a stream runs.

A stream keeps the schema that it began with, as the query behind it does. Columns that are added or renamed do not
concern it. A column that it reads and that is dropped or gets another type ends it: the next start reads the schema of
then, and older files in it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from paimon_spark.arrow.predicates.predicate import Predicate, columns_of
from paimon_spark.errors import TableChanged
from paimon_spark.format.schema import ROW_KIND_FIELD, SEQUENCE_FIELD
from paimon_spark.format.snapshot import Snapshot
from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.newer_schemas import schema_of_file
from paimon_spark.store.metadata.table import Table

_log = logging.getLogger(__name__)


class SchemaWatch:
    """Compares the schema of each snapshot with that of the stream.

    Args:
        table: in the schema of the stream.
        fields: the columns that are read.
        predicate: over columns that are read too.
    """

    def __init__(self, table: Table, fields: Sequence[DataField], predicate: Predicate) -> None:
        self._table = table
        conditions = (table.schema.by_name[name] for name in columns_of(predicate) if name in table.schema.by_name)
        self._fields = [f for f in (*fields, *conditions) if f not in (ROW_KIND_FIELD, SEQUENCE_FIELD)]
        self._seen = table.schema.id

    def check(self, snapshot: Snapshot) -> None:
        """Checks that the stream can read rows of a snapshot; schemas that were checked are not read again.

        Raises:
            TableChanged: a column that is read was dropped, or has another type.
        """
        if snapshot.schema_id <= self._seen:
            return
        table = self._table
        try:
            now = schema_of_file(table.schema, table.schemas, snapshot.schema_id, self._fields)
        except TableChanged as error:
            raise TableChanged(
                f"the stream from {table.location} stops before snapshot {snapshot.id}, because a column that it reads "
                f"has changed. {error}. Restart the query, with other columns if one was dropped: its checkpoint stays "
                "valid, and nothing was lost or read twice"
            ) from None
        known = {field.id for field in table.schema.fields}
        added = [field.name for field in now.fields if field.id not in known]
        if added:
            _log.warning(
                "the stream from %s goes on without the columns %s, which schema %d has added; restart the query to "
                "read them",
                table.location,
                ", ".join(added),
                now.id,
            )
        self._seen = snapshot.schema_id
