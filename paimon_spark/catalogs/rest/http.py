"""Requests to a REST server over HTTP (Java: HttpClient, ExponentialHttpRequestRetryStrategy).

Retries are those of urllib3. A request is repeated if no connection came about, and a GET also if its answer was lost
or the server was busy (429, 503): a POST or DELETE might be done twice, which only its caller can tell.

A failure of TLS counts as one before the request only while the connection is made: later the server may have it.

A redirect is no answer: credentials go to no other address than the one that the user gave. An answer has a size that
the memory holds, also after it is unpacked.
"""

from __future__ import annotations

import json
import logging
import ssl
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, HTTPError, MaxRetryError, NewConnectionError, SSLError

from paimon_spark.catalogs.rest.answers import checked_answer
from paimon_spark.catalogs.rest.failures import Denied, NoAnswer, NotReached, Refused
from paimon_spark.catalogs.rest.options import is_header
from paimon_spark.errors import OptionError
from paimon_spark.format.json_text import load_json
from paimon_spark.limits import MAX_JSON_BYTES

CONNECT_SECONDS = 10.0
READ_SECONDS = 180.0
"""As in Java."""
_RETRIES = urllib3.Retry(
    total=5,
    connect=2,
    read=3,
    status=5,
    other=0,  # such as a broken TLS record in an answer: urllib3 would repeat a POST too
    redirect=0,
    backoff_factor=0.3,
    backoff_jitter=0.1,
    backoff_max=20,
    status_forcelist=(429, 503),
    allowed_methods=("GET",),
    raise_on_status=False,
    raise_on_redirect=False,
)
_UNSURE = frozenset({408, 429})
"""Refusals that may come from something between us and the server, like those above 500."""
_SHOWN = 500  # characters of a server's message

_log = logging.getLogger(__name__)


class _NotSafe(SSLError):
    """The connection was not made: no request has gone out on it."""


class _TooLarge(HTTPException):
    """The answer is larger than any that a catalog gives."""


class _LimitedAnswer(HTTPResponse):
    """urllib3 reads the whole body at once, also that of an answer which it only passes over."""

    def read(self, amt: int | None = None) -> bytes:
        if amt is not None:
            return super().read(amt)
        data = super().read(MAX_JSON_BYTES + 1)
        if len(data) > MAX_JSON_BYTES:
            self.close()
            raise _TooLarge(f"it has more than {MAX_JSON_BYTES} bytes")
        if self.length:  # only a read without a size would look at it
            raise IncompleteRead(data, self.length)
        return data


class _PlainConnection(HTTPConnection):
    response_class = _LimitedAnswer


class _PlainConnections(urllib3.HTTPConnectionPool):
    ConnectionCls = _PlainConnection


class _Connection(HTTPSConnection):
    response_class = _LimitedAnswer

    def connect(self) -> None:
        try:
            super().connect()
        except (ssl.SSLError, SSLError) as error:
            raise _NotSafe(error) from None


class _Connections(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Connection


@dataclass(frozen=True)
class Request:
    """One request, as it is signed. body: JSON text, None: there is none; query: not yet encoded."""

    method: str
    path: str
    query: Mapping[str, str]
    body: str | None = None


class HttpClient:
    """Sends JSON to one server and takes JSON back; safe to use from several threads."""

    def __init__(self, base: str, shown: str, sign: Callable[[Request], Mapping[str, str]], secrets: tuple[str, ...]):
        """
        Args:
            base: the address of the server. shown: the same for messages.
            sign: the headers of a request, credentials included.
            secrets: what no message may contain.
        """
        self._base, self._shown, self._sign, self._secrets = base, shown, sign, secrets
        self._pool = urllib3.PoolManager(maxsize=16, retries=_RETRIES)
        self._pool.pool_classes_by_scheme = {"http": _PlainConnections, "https": _Connections}

    def get(self, path: str, query: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The answer to a GET."""
        return self._ask(Request("GET", path, query or {}))

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a POST; {}: the server answers without a body."""
        return self._ask(Request("POST", path, {}, json.dumps(body, separators=(",", ":"), ensure_ascii=False)))

    def delete(self, path: str) -> None:
        """A DELETE."""
        self._ask(Request("DELETE", path, {}))

    def _ask(self, request: Request) -> dict[str, Any]:
        url = f"{self._base}{request.path}" + (f"?{urlencode(request.query, quote_via=quote)}" if request.query else "")
        headers = self._headers(request)
        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        body = None if request.body is None else request.body.encode()
        _log.debug("%s %s of %s", request.method, request.path, self._shown)
        try:
            answer = self._pool.request(
                request.method, url, body=body, headers=headers, timeout=timeout, decode_content=False
            )
        except HTTPError as error:
            raise self._no_answer(request, error) from None  # the cause may show the whole address
        try:
            data = _unpacked(answer.data, answer.headers.get("Content-Encoding", ""))
        except ValueError as error:
            raise NoAnswer(f"{self._asked(request)}: the answer cannot be read: {error}") from None
        if not 200 <= answer.status < 300:
            raise self._failure(request, answer.status, data)
        return self._parsed(request, data)

    def _headers(self, request: Request) -> dict[str, str]:
        headers = dict(self._sign(request))
        if request.body is not None:
            headers.setdefault("Content-Type", "application/json")
        for name, text in headers.items():  # the HTTP library shows the value in its error
            if not is_header(name, text):
                raise OptionError(
                    f"{self._asked(request)}: the header {name[:_SHOWN]!a} cannot be sent; its value, which is not "
                    "shown here, has characters that HTTP does not take. Check the options of the catalog"
                )
        return headers

    def _parsed(self, request: Request, data: bytes) -> dict[str, Any]:
        if not data.strip():
            return {}
        try:
            found = load_json(data)
            if isinstance(found, dict):
                return checked_answer(found)
        except (ValueError, RecursionError) as error:  # whose texts show none of the answer: it may hold credentials
            why = f": {error}"
        else:
            why = ""
        raise NoAnswer(
            f"{self._asked(request)}: the answer is no JSON object of the protocol{why}; is this a REST catalog of "
            "Paimon?"
        )

    def _no_answer(self, request: Request, error: HTTPError) -> NotReached | NoAnswer:
        reason = error.reason if isinstance(error, MaxRetryError) else error
        if isinstance(reason, _NotSafe):
            return NotReached(f"{self._asked(request)}: no safe connection: {self._safe(reason)}")
        if isinstance(reason, (NewConnectionError, ConnectTimeoutError)):
            return NotReached(
                f"{self._asked(request)}: the server cannot be reached; check the option 'uri', and that it is running"
            )
        if reason is not None and any(isinstance(cause, _TooLarge) for cause in reason.args):
            return NoAnswer(f"{self._asked(request)}: the answer is too large: it has more than {MAX_JSON_BYTES} bytes")
        return NoAnswer(
            f"{self._asked(request)}: the server did not answer ({type(reason).__name__}); whether it has done it is "
            "not known" + ("" if request.method != "GET" else ", and nothing was to be changed")
        )

    def _failure(self, request: Request, status: int, data: bytes) -> NoAnswer | Denied | Refused:
        answer = _error_body(data)
        said = self._safe(str(answer.get("message") or "")) or "without a message"
        code = answer.get("code")
        # A gateway that gives up (504) may have passed the request on, whatever a body says.
        if 400 <= status < 500 and status not in _UNSURE and isinstance(code, int) and 400 <= code < 600:
            status = code
        begin = f"{self._asked(request)}: the server answers {status}, {said}"
        if status == 401:
            return Denied(f"{begin}. Check the credentials of the catalog (token.provider and its options)")
        if status == 403:
            return Denied(f"{begin}. The user of these credentials lacks the permission")
        if status == 501:
            return Refused(f"{begin}. This server does not have what was asked for", status, "", said)
        if status >= 500 or status in _UNSURE or status < 400:
            return NoAnswer(begin)
        if status == 404 and not answer:
            begin += ". Is this the address of a REST catalog, of a version that knows this path?"
        return Refused(begin, status, str(answer.get("resourceType") or "").upper(), said)

    def _asked(self, request: Request) -> str:
        return f"{request.method} {request.path} of the REST catalog at {self._shown}"

    def _safe(self, text: object) -> str:
        shown = " ".join(str(text).split())[:_SHOWN]
        for secret in self._secrets:
            shown = shown.replace(secret, "***")
        return shown


def _unpacked(data: bytes, coding: str) -> bytes:
    """The body of an answer. Compression is not asked for; some proxies do it all the same.

    Raises:
        ValueError: it is damaged, too large, or compressed in another way.
    """
    if coding.strip().lower() in ("", "identity"):
        return data
    if coding.strip().lower() != "gzip":
        raise ValueError(f"it is compressed by {coding[:40]!r}, which nobody asked for")
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        unpacked = unpacker.decompress(data, MAX_JSON_BYTES + 1)
    except zlib.error as error:
        raise ValueError(f"its compression is damaged ({error})") from None
    if len(unpacked) > MAX_JSON_BYTES:
        raise ValueError(f"it has more than {MAX_JSON_BYTES} bytes")
    if not unpacker.eof:
        raise ValueError("its compression is damaged (it ends early)")
    return unpacked


def _error_body(data: bytes) -> dict[str, Any]:
    try:
        found = load_json(data)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
