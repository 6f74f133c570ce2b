"""The views of a JDBC catalog (Java: JdbcCatalog.createView and what follows it)."""

from __future__ import annotations

from collections.abc import Sequence

from paimon_spark.catalogs.identifier import SYSTEM_DATABASE, Identifier, check_new_name, check_not_system
from paimon_spark.catalogs.jdbc.database import RowTaken
from paimon_spark.catalogs.jdbc.names import JdbcNames
from paimon_spark.catalogs.not_found import view_not_found
from paimon_spark.catalogs.view_changes import changed_view
from paimon_spark.catalogs.view_json import decode_view, encode_view
from paimon_spark.catalogs.views import View, ViewChange
from paimon_spark.errors import RetriesExhausted, ViewAlreadyExists

_TRIES = 100


class JdbcViews(JdbcNames):
    """The part of the catalog that is about views; see ViewCatalog. A view is one row with its JSON."""

    @property
    def has_views(self) -> bool:
        return True

    def list_views(self, database: str) -> list[str]:
        if database == SYSTEM_DATABASE:
            return []
        self.check_database(database)
        return self.connection.views.names(database)

    def find_view(self, identifier: Identifier) -> View | None:
        text = self.connection.views.find(identifier)
        return None if text is None else self._decoded(identifier, text)

    def load_view(self, identifier: Identifier) -> View:
        found = self.find_view(identifier)
        if found is None:
            raise view_not_found(self, identifier)
        return found

    def create_view(self, identifier: Identifier, view: View, ignore_if_exists: bool = False) -> None:
        check_not_system(identifier, "creating")
        check_new_name(identifier.table, "view")
        self.check_database(identifier.database)
        with self.connection.lock(identifier):
            try:
                if not self._is_taken(identifier):
                    self.connection.views.add(identifier, encode_view(view))
                    return
            except RowTaken:
                pass
        if not ignore_if_exists:
            raise ViewAlreadyExists(f"there is a view or a table {identifier} already; choose another name")

    def alter_view(
        self, identifier: Identifier, changes: Sequence[ViewChange], ignore_if_not_exists: bool = False
    ) -> None:
        with self.connection.lock(identifier):
            for _ in range(_TRIES):
                text = self.connection.views.find(identifier)
                if text is None:
                    if ignore_if_not_exists:
                        return
                    raise view_not_found(self, identifier)
                new = encode_view(changed_view(identifier, self._decoded(identifier, text), changes))
                if new == text or self.connection.views.replace(identifier, text, new):
                    return
        raise RetriesExhausted(f"changing the view {identifier}: others change it all the time; run it again")

    def rename_view(self, identifier: Identifier, to: Identifier, ignore_if_not_exists: bool = False) -> None:
        check_new_name(to.table, "view")
        with self.connection.lock(identifier, to):
            if self.connection.views.find(identifier) is None:
                if ignore_if_not_exists:
                    return
                raise view_not_found(self, identifier)
            self.check_database(to.database)
            taken = ViewAlreadyExists(
                f"renaming the view {identifier}: there is a view or a table {to} already; choose another name"
            )
            if self._is_taken(to):
                raise taken
            try:
                if not self.connection.views.rename(identifier, to):
                    raise view_not_found(self, identifier)
            except RowTaken:
                raise taken from None

    def drop_view(self, identifier: Identifier, ignore_if_not_exists: bool = False) -> None:
        with self.connection.lock(identifier):
            is_gone = self.connection.views.find(identifier) is not None and self.connection.views.remove(identifier)
        if not is_gone and not ignore_if_not_exists:
            raise view_not_found(self, identifier)

    def _is_taken(self, identifier: Identifier) -> bool:
        return self.connection.rows.has_table(identifier) or self.connection.views.find(identifier) is not None

    def _decoded(self, identifier: Identifier, text: str) -> View:
        return decode_view(text.encode(), f"the view {identifier} of the catalog '{self.name}'")
