"""What a REST server of a stranger can make a client do: no credentials go elsewhere, no answer fills the memory, and
an answer of another shape is a named error."""

from __future__ import annotations

import gzip
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from support.long_runs import LONG
from support.rest_server import RestServer

from paimon_spark import open_catalog
from paimon_spark.arrow.predicates.server_limits import decode_filter, decode_masks
from paimon_spark.catalogs.catalog import Catalog
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.catalogs.rest import http
from paimon_spark.catalogs.rest.options import travelled
from paimon_spark.errors import PaimonError, StorageError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField
from paimon_spark.tables.open import open_table

CONFIG = {"defaults": {"prefix": "p"}, "overrides": {}}


@dataclass
class Stranger:
    """A server that answers what it is told to.

    Attributes:
        requests: the paths and headers of what has come.
        answers: by the end of the path: the status, the headers and the pieces of the body.
    """

    url: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    answers: dict[str, tuple[int, dict[str, str], Iterator[bytes]]] = field(default_factory=dict)

    def say(self, end: str, body: Any, status: int = 200, **headers: str) -> None:
        pieces = body if hasattr(body, "__next__") else iter([body if isinstance(body, bytes) else _json(body)])
        self.answers[end] = (status, headers, pieces)

    def catalog(self, **options: str) -> Catalog:
        own = {"metastore": "rest", "uri": self.url, "token.provider": "bear", "token": "geheim-4711"}
        return open_catalog({**own, **options})


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


@contextmanager
def stranger() -> Iterator[Stranger]:
    found = Stranger()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            found.requests.append((self.path, dict(self.headers.items())))
            ends = sorted((end for end in found.answers if self.path.partition("?")[0].endswith(end)), key=len)
            status, headers, pieces = found.answers[ends[-1]] if ends else (200, {}, iter([_json(CONFIG)]))
            self.send_response(status)
            for name, text in headers.items():
                self.send_header(name.replace("_", "-"), text)
            self.end_headers()
            try:
                for piece in pieces:
                    self.wfile.write(piece)
            except OSError:
                self.close_connection = True

        do_POST = do_DELETE = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def evil() -> Iterator[Stranger]:
    with stranger() as found:
        yield found


@pytest.fixture
def other() -> Iterator[Stranger]:
    """Another host, to which nothing may be sent."""
    with stranger() as found:
        yield found


# ------------------------------------------------------------------------------------------------------- credentials


@pytest.mark.parametrize("layer", ["defaults", "overrides"])
def test_a_server_sends_its_clients_to_no_other_address(
    layer: str, server: RestServer, name: Identifier, other: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither here nor in a process that gets the options with a table; and nobody else is asked for a token."""
    theirs = {
        "uri": other.url,
        "token": "another",
        "token.provider": "dlf",
        "dlf.token-loader": "ecs",
        "dlf.token-ecs-metadata-url": other.url,
    }
    monkeypatch.setitem(server.config, layer, {**server.config[layer], **theirs})
    catalog = open_catalog({**server.options, "header.x-mark": f"{layer}{name}"})
    assert name.database in catalog.list_databases()
    options = catalog.table_options()
    assert travelled(options).base == server.url  # type: ignore[union-attr]  # it is one of a REST catalog
    assert open_table(catalog.table_location(name), options).scan().count() == 0
    assert other.requests == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(status: int, evil: Stranger, other: Stranger) -> None:
    evil.say("/databases", b"", status, Location=f"{other.url}/v1/p/databases", Content_Length="0")
    catalog = evil.catalog()
    with pytest.raises(StorageError, match=f"the server answers {status}"):
        catalog.list_databases()
    with pytest.raises(StorageError, match=f"the server answers {status}"):
        catalog.create_database("d")
    assert other.requests == []


# --------------------------------------------------------------------------------------------------------------- size


def forever() -> Iterator[bytes]:
    while True:
        yield b" " * 65536


@pytest.mark.parametrize(
    ("body", "headers", "said"),
    [
        (forever, {}, "the answer is too large"),
        (lambda: iter([b" " * 70_000]), {"Content_Length": "70000"}, "the answer is too large"),
        (lambda: iter([gzip.compress(bytes(10**7))]), {"Content_Encoding": "gzip"}, "it has more than 65536 bytes"),
        (lambda: iter([b"\1"]), {"Content_Encoding": "gzip"}, "its compression is damaged"),
        (lambda: iter([b"{}"]), {"Content_Encoding": "br"}, "compressed by 'br', which nobody asked for"),
        (lambda: iter([b'{"databases":' + b"[" * 20_000]), {}, "no JSON object of the protocol"),
        (lambda: iter([b'{"databases":' + b"[" * 400 + b"]" * 400 + b"}"]), {}, "deeper than 300"),
        (lambda: iter([b'{"databases": [' + b"9" * 5000 + b"]}"]), {}, "no JSON object of the protocol"),
    ],
    ids=["endless", "large", "packed", "damaged", "another packing", "deep", "rather deep", "digits"],
)
@pytest.mark.parametrize("status", [200, 503, 404])
def test_answers_that_would_fill_the_memory(
    status: int,
    body: Callable[[], Iterator[bytes]],
    headers: dict[str, str],
    said: str,
    evil: Stranger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "MAX_JSON_BYTES", 65536)
    monkeypatch.setattr(http, "_RETRIES", http._RETRIES.new(status=0, read=0))
    catalog = evil.catalog()
    catalog.api.options  # noqa: B018 - asks for the configuration
    evil.say("/databases", body(), status, **headers)
    with pytest.raises(PaimonError) as info:
        catalog.list_databases()
    assert status != 200 or said in str(info.value)
    assert len(str(info.value)) < 2000


def test_an_answer_that_a_proxy_has_packed_is_read(evil: Stranger) -> None:
    evil.say("/databases", gzip.compress(_json({"databases": ["a"]})), Content_Encoding="gzip")
    assert evil.catalog().list_databases() == ["a"]


def test_an_answer_that_ends_early_is_none(evil: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_RETRIES", False)
    evil.say("/databases", b'{"databases": []}', Content_Length="5000")
    with pytest.raises(StorageError, match="the server did not answer"):
        evil.catalog().list_databases()


# -------------------------------------------------------------------------------------------------------------- shape

TABLE = {
    "id": "1", "database": "d", "name": "t", "path": "/nowhere/d.db/t", "isExternal": False, "schemaId": 0,
    "owner": "x",
    "schema": {
        "fields": [{"id": 0, "name": "a", "type": "INT"}], "partitionKeys": [], "primaryKeys": [],
        "options": {"type": "format-table", "file.format": "parquet"}, "comment": None,
    },
}  # fmt: skip
VIEW = {"name": "v", "schema": {"fields": [{"id": 0, "name": "a", "type": "INT"}], "query": "SELECT 1", "dialects": {},
        "comment": None, "options": {}}}  # fmt: skip
FUNCTION = {
    "name": "f", "inputParams": [{"id": 0, "name": "a", "type": "INT"}], "returnParams": None, "deterministic": True,
    "definitions": {"spark": {"type": "sql", "definition": "a"}}, "comment": None, "options": {},
}  # fmt: skip
T = Identifier("d", "t")
CALLS: dict[str, tuple[str, Any, Callable[[Catalog], Any]]] = {
    "config": ("/config", CONFIG, lambda catalog: catalog.list_databases()),
    "databases": ("/databases", {"databases": ["a"]}, lambda catalog: catalog.list_databases()),
    "database": ("/databases/d", {"name": "d", "options": {"a": "b"}}, lambda catalog: catalog.load_database("d")),
    "tables": ("/tables", {"tables": ["t"]}, lambda catalog: catalog.list_tables("d")),
    "table": ("/tables/t", TABLE, lambda catalog: catalog.load_any_table(T)),
    "view": ("/views/t", VIEW, lambda catalog: catalog.load_view(T)),  # type: ignore[attr-defined]
    "functions": ("/functions", {"functions": ["f"]}, lambda c: c.list_functions("d")),  # type: ignore[attr-defined]
    "function": ("/functions/t", FUNCTION, lambda catalog: catalog.load_function(T)),  # type: ignore[attr-defined]
}
STRANGE = (None, 0, -1, 2**70, 1.5, True, "", "x", "../..", "\0", [], ["x"], [None], [[]], {}, {"x": None}, {"x": []})


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value in an answer."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*path, key))


def changed(value: Any, path: tuple[Any, ...], strange: Any) -> Any:
    if not path:
        return strange
    made = deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = strange
    return made


@pytest.mark.parametrize("call", CALLS)
def test_answers_of_another_shape(call: str, evil: Stranger) -> None:
    """Each value of each answer becomes each strange one. CI tries some."""
    end, good, ask = CALLS[call]
    evil.say(end, good)
    ask(evil.catalog())
    cases = [(path, strange) for path in places(good) for strange in STRANGE]
    wrong = []
    for path, strange in cases if LONG else random.Random(call).sample(cases, min(len(cases), 60)):
        evil.say(end, changed(good, path, strange))
        try:
            ask(evil.catalog(**{"header.x-mark": f"{path}".encode("ascii", "replace").decode()}))
        except PaimonError:
            continue
        except Exception as error:
            wrong.append((path, strange, repr(error)[:150]))
    assert wrong == []


# -------------------------------------------------------------------------------------------------- filters and masks

FIELDS = (DataField(0, "id", parse_type("INT")), DataField(1, "name", parse_type("STRING")))
ID = {"name": "FIELD_REF", "fieldRef": {"index": 0, "name": "id", "type": "INT"}}
NAME = {"index": 1, "name": "name", "type": "STRING"}
UPPER = {"name": "UPPER", "inputs": [NAME]}
RULE = {
    "kind": "COMPOUND", "function": "AND",
    "children": [
        {"kind": "LEAF", "transform": ID, "function": "IN", "literals": [1, 2]},
        {"kind": "LEAF", "transform": UPPER, "function": "STARTS_WITH", "literals": ["X"]},
    ],
}  # fmt: skip
MASK = {"name": "CONCAT", "inputs": ["x", NAME]}


def test_rules_of_another_shape() -> None:
    """A rule is applied as it is, or the read is refused: no rule is passed over because it cannot be read."""
    decode_filter([json.dumps(RULE)], FIELDS, "reading d.t")
    assert decode_masks({"name": json.dumps(MASK)}, FIELDS, "reading d.t")
    wrong = []
    for good, decode in (
        (RULE, lambda rule: decode_filter([json.dumps(rule)], FIELDS, "reading d.t")),
        (MASK, lambda mask: decode_masks({"name": json.dumps(mask)}, FIELDS, "reading d.t")),
    ):
        for path in places(good):
            for strange in STRANGE:
                try:
                    decode(changed(good, path, strange))
                except UnsupportedFeature:
                    continue
                except Exception as error:
                    wrong.append((path, strange, repr(error)[:150]))
    assert wrong == []


BRANCH = '{"kind":"COMPOUND","function":"AND","children":['
DEEP = {
    "a number": 7, "a list": ["x"], "brackets": "[" * 20_000, "half a character": "\ud800",
    "conditions": BRANCH * 140 + "{}" + "]}" * 140, "more conditions": BRANCH * 400 + "{}" + "]}" * 400,
}  # fmt: skip


@pytest.mark.parametrize("what", DEEP)
def test_rules_that_are_no_texts_or_nested_deep(what: str) -> None:
    whole = DEEP[what]
    with pytest.raises(UnsupportedFeature):
        decode_filter([whole], FIELDS, "reading d.t")
    with pytest.raises(UnsupportedFeature):
        decode_masks({"name": whole}, FIELDS, "reading d.t")
