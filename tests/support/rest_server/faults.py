"""Requests that go wrong, once each."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class When(Enum):
    """When the server stops answering."""

    BEFORE = "the request is not done"
    AFTER = "the request is done, and its answer is lost"


@dataclass(frozen=True)
class Fault:
    """One request that fails.

    Attributes:
        path: a part of its path.
        when: whether it is done.
        status: of the answer; None: the connection is closed without one.
        method: of HTTP; None: any.
        message: what the server says with the status.
        code: the status in the body; None: the same.
    """

    path: str
    when: When = When.BEFORE
    status: int | None = None
    method: str | None = None
    message: str = "broken on purpose"
    code: int | None = None

    def meets(self, method: str, path: str) -> bool:
        """True if it is this request."""
        return self.path in path and self.method in (None, method)
