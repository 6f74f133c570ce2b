"""The views of a Hive catalog (Java: HiveCatalog.createView and what follows it).

A metastore has one query for a view, so there are no dialects. The query of the dialect of Spark may be given if it is
the query itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.hive.hive_tables import COMMENT, fields_for_hive
from paimon_spark.catalogs.hive.hive_types import paimon_type
from paimon_spark.catalogs.hive.metastore import Metastore
from paimon_spark.catalogs.hive.places import VIEW, HiveTable, is_view
from paimon_spark.catalogs.identifier import Identifier, Missing, Taken
from paimon_spark.catalogs.view_changes import changed_view
from paimon_spark.catalogs.views import AddDialect, DropDialect, UpdateDialect, View, ViewChange
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.format.types import DataField

_SEQUENCE_INPUT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_SEQUENCE_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe"
_MOST = 2**31 - 1


@dataclass(frozen=True)
class HiveViews:
    """Views that a metastore has beside its tables; see ViewNames."""

    metastore: Metastore

    def list_views(self, database: str) -> list[str]:
        return self.metastore.views(database)

    def find(self, identifier: Identifier) -> View | None:
        found = self.metastore.table(identifier)
        return _view_of(found) if is_view(found) else None

    def add(self, identifier: Identifier, view: View) -> None:
        _check_one_query(f"creating the view {identifier}", view)
        made = self._made(identifier, view)
        if self.metastore.table(identifier) is not None:
            raise Taken
        self.metastore.create_table(made)

    def change(self, identifier: Identifier, changes: Sequence[ViewChange]) -> None:
        """As ViewNames.change, for options and the comment. Java's catalog changes no views."""
        for change in changes:
            if isinstance(change, AddDialect | UpdateDialect | DropDialect):
                raise UnsupportedFeature(
                    f"changing the view {identifier}: a Hive metastore has one query for a view, and no dialects; "
                    "create it anew (CREATE OR REPLACE VIEW)"
                )
        found = self._found(identifier)
        found.parameters = _parameters(changed_view(identifier, _view_of(found), changes))
        self.metastore.alter_table(identifier, found, {})

    def rename(self, identifier: Identifier, to: Identifier) -> None:
        renamed = deepcopy(self._found(identifier))
        if self.metastore.table(to) is not None:
            raise Taken
        renamed.dbName, renamed.tableName = to.database, to.table
        self.metastore.alter_table(identifier, renamed, {})

    def remove(self, identifier: Identifier) -> None:
        self._found(identifier)
        self.metastore.drop_table(identifier)

    def _found(self, identifier: Identifier) -> HiveTable:
        """The view as the metastore has it. Raises Missing if it has none."""
        found = self.metastore.table(identifier)
        if found is None or not is_view(found):
            raise Missing
        return found

    def _made(self, identifier: Identifier, view: View) -> HiveTable:
        return ttypes.Table(
            tableName=identifier.table,
            dbName=identifier.database,
            owner=self.metastore.user,
            retention=_MOST,
            partitionKeys=[],
            parameters=_parameters(view),
            viewOriginalText=view.query,
            viewExpandedText=view.query,
            tableType=VIEW,
            sd=ttypes.StorageDescriptor(
                cols=fields_for_hive(self.metastore, view.fields),
                inputFormat=_SEQUENCE_INPUT,
                outputFormat=_SEQUENCE_OUTPUT,
                numBuckets=-1,
                serdeInfo=ttypes.SerDeInfo(serializationLib=_SERDE, parameters={"serialization.format": "1"}),
                bucketCols=[],
                sortCols=[],
                parameters={},
            ),
        )


def _check_one_query(doing: str, view: View) -> None:
    others = sorted(dialect for dialect, query in view.dialects.items() if query != view.query)
    if others:
        raise UnsupportedFeature(
            f"{doing} with a query of its own for {', '.join(others)}: a Hive metastore has one query for a view; give "
            "the same query for all"
        )


def _parameters(view: View) -> dict[str, str]:
    return {**view.options, **({} if view.comment is None else {COMMENT: view.comment})}


def _view_of(table: HiveTable) -> View:
    columns = [*table.sd.cols, *(table.partitionKeys or ())]
    fields = tuple(
        DataField(number, column.name, paimon_type(column.type), column.comment or None)
        for number, column in enumerate(columns)
    )
    options = dict(table.parameters or {})
    return View(fields, table.viewExpandedText or "", {}, options.pop(COMMENT, None), options)
