"""One catalog of each kind, empty: in files, in a relational database, in a Hive metastore, on a REST server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.programs.hive_metastore import HiveMetastore, drop_all
from support.rest_server import rest_server

FILES, JDBC, HIVE, REST = KINDS = ("filesystem", "jdbc", "hive", "rest")


@contextmanager
def catalog_options(kind: str, place: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The options of an empty catalog.

    Args:
        kind: one of KINDS.
        place: an empty directory.
        request: of a fixture; the metastore is the one of the session.
    """
    match kind:
        case "jdbc":
            yield {"metastore": kind, "uri": f"jdbc:sqlite:{place}/c.db", "warehouse": f"{place}/lake"} | {
                "lock.enabled": "true",
                "lock-check-max-sleep": "100 ms",
            }
        case "hive":
            metastore: HiveMetastore = request.getfixturevalue("metastore")
            made = {"metastore": kind, "uri": metastore.uri, "warehouse": f"{place}/lake"}
            yield made
            drop_all(made)
        case "rest":
            with rest_server(place) as server:
                yield server.options
        case _:
            yield {"warehouse": f"{place}/lake"}
