"""The views of a Hive catalog (Java: HiveCatalog.createView and what follows it).

A metastore has one query for a view, so there are no dialects. The query of the dialect of Spark may be given if it is
the query itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from pymetastore.hive_metastore import ttypes

from paimon_spark.catalogs.hive.connections import user_name
from paimon_spark.catalogs.hive.failures import Missing, Taken
from paimon_spark.catalogs.hive.hive_tables import COMMENT, fields_for_hive
from paimon_spark.catalogs.hive.hive_types import paimon_type
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.hive.places import VIEW, HiveTable, is_view
from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, Identifier, check_new_name, check_not_system
from paimon_spark.catalogs.not_found import view_not_found
from paimon_spark.catalogs.view_changes import changed_view
from paimon_spark.catalogs.views import AddDialect, DropDialect, UpdateDialect, View, ViewChange
from paimon_spark.errors import UnsupportedFeature, ViewAlreadyExists
from paimon_spark.format.types import DataField

_SEQUENCE_INPUT = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_SEQUENCE_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe"
_MOST = 2**31 - 1


class HiveViews(HiveNames):
    """The part of the catalog that is about views; see ViewCatalog."""

    @property
    def has_views(self) -> bool:
        return True

    def list_views(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return []
        self.hive_database(database)
        return self.metastore.views(database)

    def find_view(self, identifier: Identifier) -> View | None:
        found = self.metastore.table(identifier)
        return _view_of(found) if is_view(found) else None

    def load_view(self, identifier: Identifier) -> View:
        found = self.find_view(identifier)
        if found is None:
            raise view_not_found(self, identifier)
        return found

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "view")
        _check_one_query(f"creating the view {identifier}", view)
        self.hive_database(identifier.database)
        made = self._made(identifier, view)
        if self.metastore.table(identifier) is None:
            try:
                self.metastore.create_table(made)
                return
            except Taken:
                pass
        if not ignore_if_exists:
            raise _taken(f"creating the view {identifier}", identifier)

    def alter_view(
        self, identifier: Identifier, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False
    ) -> None:
        """As Catalog.alter_view, for options and the comment. Java's catalog changes no views."""
        for change in changes:
            if isinstance(change, AddDialect | UpdateDialect | DropDialect):
                raise UnsupportedFeature(
                    f"changing the view {identifier}: a Hive metastore has one query for a view, and no dialects; "
                    "create it anew (CREATE OR REPLACE VIEW)"
                )
        found = self.metastore.table(identifier)
        if found is None or not is_view(found):
            if ignore_if_not_exists:
                return
            raise view_not_found(self, identifier)
        after = changed_view(identifier, _view_of(found), changes)
        found.parameters = _parameters(after)
        self._alter(identifier, found)

    def rename_view(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_new_name(to.table, "view")
        found = self.metastore.table(identifier)
        if found is None or not is_view(found):
            if ignore_if_not_exists:
                return
            raise view_not_found(self, identifier)
        self.hive_database(to.database)
        if self.metastore.table(to) is not None:
            raise _taken(f"renaming the view {identifier}", to)
        renamed = deepcopy(found)
        renamed.dbName, renamed.tableName = to.database, to.table
        self._alter(identifier, renamed)

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        found = self.metastore.table(identifier)
        try:
            if found is not None and is_view(found):
                self.metastore.drop_table(identifier)
                return
        except Missing:
            pass
        if not ignore_if_not_exists:
            raise view_not_found(self, identifier)

    def _alter(self, identifier: Identifier, table: HiveTable) -> None:
        try:
            self.metastore.alter_table(identifier, table, {})
        except Missing:
            raise view_not_found(self, identifier) from None

    def _made(self, identifier: Identifier, view: View) -> HiveTable:
        return ttypes.Table(
            tableName=identifier.table,
            dbName=identifier.database,
            owner=user_name(),
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


def _taken(doing: str, identifier: Identifier) -> ViewAlreadyExists:
    return ViewAlreadyExists(f"{doing}: there is a view or a table {identifier} already; choose another name")
