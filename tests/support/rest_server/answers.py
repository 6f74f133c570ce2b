"""What the server answers that is no success, and lists in pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Json = dict[str, Any]


class Failure(Exception):
    """An answer with a status of failure."""

    def __init__(self, status: int, kind: str | None, name: str | None, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"resourceType": kind, "resourceName": name, "message": message, "code": status}


def missing(kind: str, name: str) -> Failure:
    """Nothing of that name."""
    return Failure(404, kind, name, f"{kind} {name} doesn't exist.")


def taken(kind: str, name: str) -> Failure:
    """Something of that name is there already."""
    return Failure(409, kind, name, f"{kind} {name} already exists.")


def page(key: str, entries: Iterable[tuple[str, Any]], query: Mapping[str, str], size: int) -> Json:
    """One page of what is listed by name: after the name in pageToken."""
    ordered = sorted(entries, key=lambda entry: entry[0])
    after = query.get("pageToken")
    left: Sequence[tuple[str, Any]] = [entry for entry in ordered if after is None or entry[0] > after]
    count = int(query.get("maxResults") or size)
    token = left[count - 1][0] if len(left) > count else None
    return {key: [value for _, value in left[:count]], "nextPageToken": token}
