"""What the calls of the REST protocol share: the connection, the paths, and lists in pages (Java: RESTApi)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paimon_spark.catalogs.rest.http import HttpClient
from paimon_spark.catalogs.rest.paths import Paths

Json = dict[str, Any]


class Calls:
    """One server; safe to use from several threads."""

    def __init__(self, http: HttpClient, paths: Paths) -> None:
        """paths: below the prefix that the server has given."""
        self._http, self._paths = http, paths

    def _pages(self, path: str, key: str, **wanted: str | None) -> Iterator[Any]:
        """What a list holds, page by page; an empty page ends it, as in Java."""
        query = {name: text for name, text in wanted.items() if text}
        while True:
            page = self._http.get(path, query)
            entries = page.get(key) or []
            yield from entries
            token = page.get("nextPageToken")
            if not token or not entries:
                return
            query["pageToken"] = str(token)


def identifier_json(database: str, name: str) -> Json:
    """A name as the protocol writes it."""
    return {"database": database, "object": name}


def object_in(answer: Json, key: str) -> Json:
    """The object under a key of an answer; {}: there is none."""
    found = answer.get(key)
    return found if isinstance(found, dict) else {}
