"""The paths of the REST protocol (features 9.4; Java: ResourcePaths)."""

from __future__ import annotations

from urllib.parse import quote_plus

CONFIG = "/v1/config"


def encoded(name: str) -> str:
    """A name as a part of a path, in the form of Java's URLEncoder."""
    return quote_plus(name, safe="*").replace("~", "%7E")


class Paths:
    """The paths below the prefix that the server has given; None: it has given none."""

    def __init__(self, prefix: str | None) -> None:
        self._root = "/v1" if prefix is None else f"/v1/{encoded(prefix)}"

    def databases(self) -> str:
        """All databases."""
        return f"{self._root}/databases"

    def database(self, name: str, *below: str) -> str:
        """One database; below: parts of a path in it."""
        return "/".join((self._root, "databases", encoded(name), *map(encoded, below)))

    def table(self, database: str, table: str, *below: str) -> str:
        """One table; below: parts of a path in it."""
        return self.database(database, "tables", table, *below)

    def everywhere(self, *parts: str) -> str:
        """Objects of all databases: ``tables``, ``tables/rename``, ``tables/id/<id>``, ``views``, ``functions``."""
        return "/".join((self._root, *map(encoded, parts)))
