"""Requests to a REST server that is down, wrong, busy, or no REST catalog at all."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from support.rest_server import Fault, RestServer, When

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.rest import http
from paimon_spark.catalogs.rest.paths import Paths
from paimon_spark.errors import AccessDenied, OptionError, PaimonError, StorageError, UnsupportedFeature


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_a_server_that_is_down(server: RestServer, closed_port: int) -> None:
    catalog = open_catalog({**server.options, "uri": f"http://user:geheim@127.0.0.1:{closed_port}/"})
    with pytest.raises(
        StorageError, match=r"cannot be reached; check the option 'uri', and that it is running"
    ) as info:
        catalog.list_databases()
    assert f"http://127.0.0.1:{closed_port}" in str(info.value)
    assert "geheim" not in str(info.value)


def test_a_server_that_does_not_answer(server: RestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "READ_SECONDS", 0.05)
    monkeypatch.setattr(http, "_RETRIES", False)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        catalog = open_catalog({**server.options, "uri": f"127.0.0.1:{silent.getsockname()[1]}"})
        with pytest.raises(StorageError, match=r"the server did not answer \(ReadTimeoutError\)"):
            catalog.list_databases()


def test_wrong_credentials(server: RestServer) -> None:
    catalog = open_catalog({**server.options, "token": "wrong-7712"})
    with pytest.raises(AccessDenied, match=r"answers 401, wrong credentials\. Check the credentials") as info:
        catalog.list_databases()
    assert "wrong-7712" not in str(info.value)


def test_a_server_of_another_kind_or_version(server: RestServer) -> None:
    catalog = open_catalog({**server.options, "warehouse": "another"})
    with pytest.raises(PaimonError, match="404"):
        catalog.list_databases()
    catalog = open_catalog({**server.options, "uri": f"{server.url}/elsewhere"})
    with pytest.raises(PaimonError, match=r"answers 404"):
        catalog.list_databases()


@pytest.mark.parametrize(
    "fault", [Fault("databases", When.BEFORE), Fault("databases", When.AFTER), Fault("databases", When.BEFORE, 503)]
)
def test_reads_are_asked_again(server: RestServer, catalog: Catalog, fault: Fault) -> None:
    catalog.list_databases()
    server.faults.extend([fault, fault])
    server.requests.clear()
    catalog.list_databases()
    assert len(server.requests) == 3


def test_changes_are_not_asked_again(server: RestServer, catalog: Catalog) -> None:
    catalog.list_databases()
    server.requests.clear()
    server.faults.append(Fault("databases", When.AFTER, method="POST"))
    with pytest.raises(StorageError, match=r"whether it has done it is not known"):
        catalog.create_database("once")
    assert len(server.requests) == 1
    assert "once" in catalog.list_databases()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"uri": ""}, "the option 'uri' of the REST catalog is missing"),
        ({"token.provider": ""}, "'token.provider' of the REST catalog is missing: expected 'bear'"),
        ({"token.provider": "oauth"}, "'token.provider' of the REST catalog is 'oauth'"),
        ({"token": ""}, "the option 'token' of the REST catalog is missing"),
        ({"tokn": "x"}, "the option 'tokn' of the catalog is not known"),
        ({"data-token.enabled": "maybe"}, "'data-token.enabled' of the REST catalog is 'maybe'"),
        ({"io-cache.enabled": "true"}, "leave 'io-cache.enabled' out"),
    ],
)
def test_options(server: RestServer, change: dict[str, str], message: str) -> None:
    with pytest.raises((OptionError, UnsupportedFeature), match=message):
        open_catalog({**server.options, **change})


def test_names_are_encoded_as_by_java() -> None:
    """Java: URLEncoder in UTF-8 (RESTUtil.encodeString)."""
    assert Paths("a b").table("ä/b", "t$branch_x~*", "tags", "1.0") == (
        "/v1/a+b/databases/%C3%A4%2Fb/tables/t%24branch_x%7E*/tags/1.0"
    )
    assert Paths(None).everywhere("tables", "id", "x y") == "/v1/tables/id/x+y"
