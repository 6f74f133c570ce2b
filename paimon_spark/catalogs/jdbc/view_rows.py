"""The rows of the views of one catalog."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.jdbc.database import Database
from paimon_spark.catalogs.jdbc.tables import VIEWS


@dataclass(frozen=True)
class ViewRows:
    """The views of the catalog with that key. Each method is one transaction; a view is its JSON."""

    database: Database
    key: str

    def names(self, database: str) -> list[str]:
        """The names, sorted."""
        wanted = sa.select(VIEWS.c.view_name).where(VIEWS.c.catalog_key == self.key, VIEWS.c.database_name == database)
        return sorted(self.database.read(lambda c: list(c.scalars(wanted))))

    def find(self, identifier: Identifier) -> str | None:
        """None: there is no view of that name, in that letter case (MySQL finds others too)."""
        columns = (VIEWS.c.database_name, VIEWS.c.view_name, VIEWS.c.view_schema)
        wanted = sa.select(*columns).where(*self._is(identifier))
        found = self.database.read(lambda c: [tuple(row) for row in c.execute(wanted)])
        return next(
            (text for *name, text in found if name == [identifier.database, identifier.table]),
            None,
        )

    def add(self, identifier: Identifier, text: str) -> None:
        """Adds a view.

        Raises:
            RowTaken: there is one.
        """
        row = {
            "catalog_key": self.key,
            "database_name": identifier.database,
            "view_name": identifier.table,
            "view_schema": text,
        }
        self.database.change(lambda c: c.execute(sa.insert(VIEWS).values(row)))

    def replace(self, identifier: Identifier, text: str, new: str) -> bool:
        """Replaces a view that is still that text. False: it is not."""
        where = (*self._is(identifier), VIEWS.c.view_schema == text)
        return (
            self.database.change(lambda c: c.execute(sa.update(VIEWS).where(*where).values(view_schema=new)).rowcount)
            > 0
        )

    def rename(self, identifier: Identifier, to: Identifier) -> bool:
        """Gives a view another name. False: there was none.

        Raises:
            RowTaken: the new name is that of a view.
        """
        named = {"database_name": to.database, "view_name": to.table}
        renaming = sa.update(VIEWS).where(*self._is(identifier)).values(named)
        return self.database.change(lambda c: c.execute(renaming).rowcount) > 0

    def remove(self, identifier: Identifier) -> bool:
        """Removes a view. False: there was none."""
        removing = sa.delete(VIEWS).where(*self._is(identifier))
        return self.database.change(lambda c: c.execute(removing).rowcount) > 0

    def _is(self, identifier: Identifier) -> tuple[sa.ColumnElement[bool], ...]:
        return (
            VIEWS.c.catalog_key == self.key,
            VIEWS.c.database_name == identifier.database,
            VIEWS.c.view_name == identifier.table,
        )
