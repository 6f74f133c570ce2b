"""What a REST server answers that is no success (Java: ErrorResponse, DefaultErrorHandler)."""

from __future__ import annotations

from paimon_spark.errors import AccessDenied, PaimonError, StorageError


class NotReached(StorageError):
    """No connection came about: the server has not seen the request."""


class NoAnswer(StorageError):
    """The request was sent, and whether the server has done it is not known."""


class Denied(AccessDenied):
    """The server does not take the credentials, or does not allow the request: it has done nothing."""


class Refused(PaimonError):
    """The server has understood the request and has not done it.

    Attributes:
        status: of HTTP: 400, 404, 409, 501, ...
        resource: what was missing or there already: DATABASE, TABLE, SNAPSHOT, TAG, ...; "": the server does not tell.
        said: the server's own words.
    """

    def __init__(self, message: str, status: int, resource: str, said: str) -> None:
        super().__init__(message)
        self.status, self.resource, self.said = status, resource, said

    @property
    def is_missing(self) -> bool:
        """True if something was not found."""
        return self.status == 404

    @property
    def is_taken(self) -> bool:
        """True if something of the name is there already."""
        return self.status == 409

    def __reduce__(self) -> tuple[type[Refused], tuple[str, int, str, str]]:
        return type(self), (str(self), self.status, self.resource, self.said)
