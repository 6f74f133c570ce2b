"""The views of a JDBC catalog (Java: JdbcCatalog.createView and what follows it)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from paimon_spark.catalogs.identifier import Identifier, Missing, Taken
from paimon_spark.catalogs.jdbc.connection import JdbcConnection
from paimon_spark.catalogs.jdbc.sql_schema import VIEWS
from paimon_spark.catalogs.view_changes import changed_view
from paimon_spark.catalogs.view_json import decode_view, encode_view
from paimon_spark.catalogs.views import View, ViewChange
from paimon_spark.errors import RetriesExhausted

_TRIES = 100


@dataclass(frozen=True)
class JdbcViews:
    """Views that are rows with their JSON; see ViewNames. Changes hold the locks of the names.

    Attributes:
        catalog: its name, for messages.
    """

    catalog: str
    connection: JdbcConnection

    def list_views(self, database: str) -> list[str]:
        key = self.connection.settings.key
        wanted = sa.select(VIEWS.c.view_name).where(VIEWS.c.catalog_key == key, VIEWS.c.database_name == database)
        return sorted(self.connection.database.read(lambda c: list(c.scalars(wanted))))

    def has(self, identifier: Identifier) -> bool:
        return self._text(identifier) is not None

    def find(self, identifier: Identifier) -> View | None:
        text = self._text(identifier)
        return None if text is None else self._decoded(identifier, text)

    def add(self, identifier: Identifier, view: View) -> None:
        row = {
            "catalog_key": self.connection.settings.key,
            "database_name": identifier.database,
            "view_name": identifier.table,
            "view_schema": encode_view(view),
        }
        with self.connection.lock(identifier):
            self._check_free(identifier)
            self.connection.database.change(lambda c: c.execute(sa.insert(VIEWS).values(row)))

    def change(self, identifier: Identifier, changes: Sequence[ViewChange]) -> None:
        with self.connection.lock(identifier):
            for _ in range(_TRIES):
                text = self._text(identifier)
                if text is None:
                    raise Missing
                new = encode_view(changed_view(identifier, self._decoded(identifier, text), changes))
                same = sa.update(VIEWS).where(*self._is(identifier), VIEWS.c.view_schema == text)
                if new == text or self._count(same.values(view_schema=new)):
                    return
        raise RetriesExhausted(f"changing the view {identifier}: others change it all the time; run it again")

    def rename(self, identifier: Identifier, to: Identifier) -> None:
        named = {"database_name": to.database, "view_name": to.table}
        with self.connection.lock(identifier, to):
            self._check_free(to)
            if not self._count(sa.update(VIEWS).where(*self._is(identifier)).values(named)):
                raise Missing

    def remove(self, identifier: Identifier) -> None:
        with self.connection.lock(identifier):
            if not self.has(identifier) or not self._count(sa.delete(VIEWS).where(*self._is(identifier))):
                raise Missing

    def _check_free(self, identifier: Identifier) -> None:
        if self.connection.rows.has_table(identifier) or self.has(identifier):
            raise Taken

    def _text(self, identifier: Identifier) -> str | None:
        """None: there is no view of that name, in that letter case (MySQL finds others too)."""
        columns = (VIEWS.c.database_name, VIEWS.c.view_name, VIEWS.c.view_schema)
        wanted = sa.select(*columns).where(*self._is(identifier))
        found = self.connection.database.read(lambda c: [tuple(row) for row in c.execute(wanted)])
        return next((text for *name, text in found if name == [identifier.database, identifier.table]), None)

    def _count(self, statement: sa.Update | sa.Delete) -> int:
        """How many rows a statement changes, in a transaction of its own. Raises Taken: the new name is there."""
        return self.connection.database.change(lambda c: c.execute(statement).rowcount)

    def _is(self, identifier: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return (
            VIEWS.c.catalog_key == self.connection.settings.key,
            VIEWS.c.database_name == identifier.database,
            VIEWS.c.view_name == identifier.table,
        )

    def _decoded(self, identifier: Identifier, text: str) -> View:
        return decode_view(text.encode(), f"the view {identifier} of the catalog '{self.catalog}'")
