"""What is secret is shown nowhere, and credentials that a server lends stay in the process that was lent them."""

from __future__ import annotations

import logging
import pickle
import re
import time
from collections.abc import Callable, Iterator

import pytest
from support.rest_server import Fault, RestServer, When
from support.tables.catalog_tables import append, ids_of

from paimon_spark import open_catalog
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.rest.options import RestOptions, rest_options, travelled
from paimon_spark.errors import OptionError, PaimonError
from paimon_spark.tables.open import open_table

SECRETS = {
    "dlf.access-key-secret": "geheim-dlf-1",
    "dlf.security-token": "geheim-dlf-2",
    "header.Authorization": "geheim-header",
    "header.X-Api-Key": "geheim-key",
    "s3.secret-key": "geheim-s3",
    "fs.oss.accessKeySecret": "geheim-oss",
}
LENT = "geheim-lent"


@pytest.fixture
def lending(server: RestServer) -> Iterator[RestServer]:
    """A server that lends credentials for the storage of each table."""
    before = server.state.tokens
    server.config["defaults"]["data-token.enabled"] = "true"
    try:
        yield server
    finally:
        del server.config["defaults"]["data-token.enabled"]
        server.state.tokens = before


def lent_for(millis: int) -> Callable[[tuple[str, str]], dict[str, object]]:
    expires = time.time_ns() // 1_000_000 + millis
    return lambda name: {"token": {"s3.secret-key": LENT}, "expiresAtMillis": expires}


def opened(server: RestServer, name: Identifier, mark: str) -> Catalog:
    """A catalog of its own, whose tables nobody was lent credentials for."""
    return open_catalog({**server.options, "data-token.enabled": "true", "header.x-mark": f"{mark}{name}"})


def asked(server: RestServer) -> int:
    return sum(path.endswith("/token") for _, path, _ in server.requests)


def test_lent_credentials_are_asked_for_once(lending: RestServer, name: Identifier) -> None:
    lending.state.tokens = lent_for(2 * 3_600_000)
    before = asked(lending)
    table = opened(lending, name, "once").load_table(name)
    append(table, 1)
    assert (ids_of(table), asked(lending)) == ([1], before + 1)


def test_lent_credentials_are_asked_for_again_an_hour_before_they_expire(lending: RestServer, name: Identifier) -> None:
    lending.state.tokens = lent_for(3_600_000 - 1)
    table = opened(lending, name, "again").load_table(name)
    before = asked(lending)
    table.file_io.list(table.location)
    assert asked(lending) == before + 1
    lending.state.tokens = lent_for(2 * 3_600_000)
    table.file_io.list(table.location)
    table.file_io.list(table.location)
    assert asked(lending) == before + 2


def test_lent_credentials_are_not_pickled_and_not_shown(lending: RestServer, name: Identifier) -> None:
    lending.state.tokens = lent_for(2 * 3_600_000)
    table = opened(lending, name, "pickled").load_table(name)
    append(table, 1)
    data = pickle.dumps(table)
    assert LENT.encode() not in data
    assert LENT not in repr(table)
    assert ids_of(pickle.loads(data)) == [1]


def test_no_secret_is_shown(
    server: RestServer, catalog: Catalog, name: Identifier, caplog: pytest.LogCaptureFixture
) -> None:
    """In repr, in errors (also where the server repeats it), in logs."""
    caplog.set_level(logging.DEBUG)
    token = server.options["token"]
    rich = open_catalog({**server.options, **SECRETS})
    shown = [repr(rich), repr(rich.load_table(name)), repr(rich.api.options), str(rich.api.options)]
    server.faults.extend(Fault("databases", When.BEFORE, status) for status in (400, 401, 403, 404, 409, 500, 501))
    for _ in range(7):
        with pytest.raises(PaimonError) as info:
            rich.list_databases()
        shown += [str(info.value), repr(info.value), str(info.value.__cause__), str(info.value.__context__)]
    shown.append(caplog.text)
    assert not [text for text in shown for secret in (token, *SECRETS.values()) if secret in text]


def test_a_server_that_repeats_a_secret(server: RestServer, catalog: Catalog) -> None:
    token = server.options["token"]
    server.faults.append(Fault("databases", When.BEFORE, 403, message=f"the token {token} is old"))
    with pytest.raises(PaimonError, match=r"the token \*\*\* is old"):
        catalog.list_databases()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x00", "\u2026"])
@pytest.mark.parametrize("key", ["token", "header.X-Api-Key"])
def test_a_secret_that_is_no_header(server: RestServer, key: str, end: str) -> None:
    """Such as a token that was read from a file with its line break."""
    with pytest.raises(OptionError, match=f"the option '{key}' of the REST catalog is no header") as info:
        open_catalog({**server.options, key: f"geheim-1{end}"})
    assert "geheim" not in repr(info.value)


def test_a_header_whose_name_is_none(server: RestServer) -> None:
    with pytest.raises(OptionError, match=r"the option 'header\.a b' of the REST catalog is no header"):
        open_catalog({**server.options, "header.a b": "x"})


@pytest.mark.parametrize("end", ["\n", "\u2026"])
def test_a_header_of_the_server_that_cannot_be_sent(server: RestServer, end: str) -> None:
    server.config["overrides"]["header.X-Mark"] = f"geheim{end}"
    try:
        with pytest.raises(OptionError, match="the header 'X-Mark' cannot be sent") as info:
            open_catalog({**server.options, "header.x-own": str(ord(end))}).list_databases()  # not asked before
    finally:
        del server.config["overrides"]["header.X-Mark"]
    assert "geheim" not in repr(info.value)
    assert info.value.__cause__ is None


def test_any_header_is_secret(server: RestServer) -> None:
    rich = open_catalog({**server.options, **SECRETS})
    server.faults.append(Fault("databases", When.BEFORE, 403, message="no right of geheim-key"))
    with pytest.raises(PaimonError, match=r"no right of \*\*\*"):
        rich.list_databases()


def test_what_travels_with_a_table(server: RestServer, catalog: Catalog, name: Identifier) -> None:
    """The options of a read are the whole catalog, under keys that Spark redacts where they are secret."""
    told = rest_options({**server.options, **SECRETS, "table-default.bucket": "1"}, "lake").travelling()
    redacted = re.compile("(?i)secret|password|token|access[.]?key")  # the default of spark.redaction.regex
    shown = [key for key, text in told.items() if text in SECRETS.values() and not redacted.search(key)]
    assert shown == []
    lower = {key.lower(): text for key, text in told.items()}
    again = travelled(lower)
    assert isinstance(again, RestOptions)
    assert again.headers == {"authorization": "geheim-header", "x-api-key": "geheim-key"}
    assert (again.catalog, again.base, again.get("token")) == ("lake", server.url, server.options["token"])
    assert {key: again.values[key] for key in ("dlf.access-key-secret", "s3.secret-key")} == {
        key: SECRETS[key] for key in ("dlf.access-key-secret", "s3.secret-key")
    }
    assert "rest.table-default.bucket" not in told
    table = open_table(catalog.table_location(name), {k.lower(): v for k, v in catalog.table_options().items()})
    append(table, 1)
    assert ids_of(table) == [1]
