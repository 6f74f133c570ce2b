"""What the parts of a REST catalog share: its name, its options, its server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from paimon_spark.catalogs.not_found import database_not_found
from paimon_spark.catalogs.rest.api import RestApi
from paimon_spark.catalogs.rest.failures import Refused
from paimon_spark.catalogs.rest.options import RestOptions
from paimon_spark.catalogs.rest.served import api_of
from paimon_spark.errors import PaimonError, SchemaError, UnsupportedFeature

DATABASE = "DATABASE"
"""What a server calls a missing database."""


@dataclass(frozen=True)
class RestServerNames:
    """A catalog on a REST server; see RestCatalog."""

    name: str
    rest: RestOptions

    @property
    def api(self) -> RestApi:
        """The calls of the protocol, for what the catalog has no method for."""
        return api_of(self.rest)

    @property
    def options(self) -> Mapping[str, str]:
        return self.rest.values

    def list_databases(self) -> list[str]:
        return sorted(self.api.list_databases())

    @contextmanager
    def asking(self, doing: str, database: str) -> Iterator[None]:
        """Maps what the server refuses: what is missing is the database."""
        try:
            yield
        except Refused as error:
            if error.is_missing:
                raise database_not_found(self, database) from None
            raise error_of(doing, error) from None


def error_of(doing: str, error: Refused) -> PaimonError:
    """The error for a request that the server has understood and not done."""
    return (UnsupportedFeature if error.status == 501 else SchemaError)(f"{doing}: {error}")
