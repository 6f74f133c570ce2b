"""Who asks a REST server: bearer tokens and the signatures of DLF (Java: AuthProvider, DLFDefaultSigner)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from urllib.parse import unquote_plus

from paimon_spark.catalogs.rest import options as ro
from paimon_spark.catalogs.rest.dlf_tokens import DlfToken, token_loader
from paimon_spark.catalogs.rest.http import Request
from paimon_spark.catalogs.rest.paths import encoded
from paimon_spark.errors import OptionError

Sign = Callable[[Request], Mapping[str, str]]

SAFE_MILLIS = 3_600_000
"""A token that expires within this time is replaced (Java: RESTApi.TOKEN_EXPIRATION_SAFE_TIME_MILLIS)."""
_ALGORITHM = "DLF4-HMAC-SHA256"
_SCOPE = ("DlfNext", "aliyun_v4_request")
_UNSIGNED = "UNSIGNED-PAYLOAD"
_SIGNED = frozenset(
    {"content-md5", "content-type", "x-dlf-content-sha256", "x-dlf-date", "x-dlf-version", "x-dlf-security-token"}
)
_REGION = re.compile(r"(?:pre-)?([a-z]+-[a-z]+(?:-\d+)?)")


def signer(options: ro.RestOptions) -> Sign:
    """The headers of a request by the credentials of a catalog.

    Raises:
        OptionError: credentials are missing.
        UnsupportedFeature: they are of a kind that this release does not have.
    """
    if options.get(ro.TOKEN_PROVIDER) == "bear":
        bearer = {"Authorization": f"Bearer {options.get(ro.TOKEN)}"}
        return lambda request: bearer
    return _DlfSigner(options)


class _DlfSigner:
    """Signs requests with the newest token of DLF."""

    def __init__(self, options: ro.RestOptions) -> None:
        self._fresh = FreshToken(token_loader(options))
        self._host = options.base.partition("://")[2].partition("/")[0]
        chosen = options.get(ro.DLF_SIGNING) or ("openapi" if "dlfnext" in options.base.lower() else "default")
        if chosen not in ("default", "openapi"):
            raise OptionError(f"the option '{ro.DLF_SIGNING}' is '{chosen}': expected default or openapi")
        self._openapi = chosen == "openapi"
        self._region = options.get(ro.DLF_REGION) or _region(options.base)

    def __call__(self, request: Request) -> Mapping[str, str]:
        token = self._fresh.token()
        if self._openapi:
            return openapi_headers(request, token, self._host, datetime.now(UTC))
        return dlf4_headers(request, token, self._region, datetime.now(UTC))


class FreshToken:
    """The token of a loader, loaded again before it expires."""

    def __init__(self, load: Callable[[], DlfToken]) -> None:
        self._load, self._lock = load, threading.Lock()
        self._token: DlfToken | None = None

    def token(self) -> DlfToken:
        """A token that does not expire soon."""
        with self._lock:
            if self._token is None or self._token.expires_within(SAFE_MILLIS, time.time_ns() // 1_000_000):
                self._token = self._load()
            return self._token


def _region(base: str) -> str:
    found = _REGION.search(base)
    if found is None:
        raise OptionError(f"the option '{ro.DLF_REGION}' is missing, and the address of the server names no region")
    return found[1]


def dlf4_headers(request: Request, token: DlfToken, region: str, now: datetime) -> dict[str, str]:
    """The headers with the signature DLF4-HMAC-SHA256 of a request (Java: DLFDefaultSigner)."""
    moment = now.strftime("%Y%m%dT%H%M%SZ")
    headers = {"x-dlf-date": moment, "x-dlf-content-sha256": _UNSIGNED, "x-dlf-version": "v1"}
    if request.body:
        headers["Content-Type"] = "application/json"
        headers["Content-MD5"] = content_md5(request.body)
    if token.security_token is not None:
        headers["x-dlf-security-token"] = token.security_token
    scope = "/".join((moment[:8], region, *_SCOPE))
    digest = hashlib.sha256(_canonical(request, headers).encode()).hexdigest()
    key = f"aliyun_v4{token.key_secret}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    signature = _hmac(key, "\n".join((_ALGORITHM, moment, scope, digest))).hex()
    headers["Authorization"] = f"{_ALGORITHM} Credential={token.key_id}/{scope},Signature={signature}"
    return headers


def _canonical(request: Request, headers: Mapping[str, str]) -> str:
    query = "&".join(
        f"{key.strip()}={encoded(text)}" if text else key.strip() for key, text in sorted(request.query.items())
    )
    lower = {key.lower(): text.strip() for key, text in headers.items()}
    signed = [f"{key}:{lower[key]}" for key in sorted(lower) if key in _SIGNED]
    return "\n".join((request.method, request.path, query, *signed, _UNSIGNED))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def openapi_headers(
    request: Request, token: DlfToken, host: str, now: datetime, nonce: str | None = None
) -> dict[str, str]:
    """The headers of a request with its signature (HMAC-SHA1). now: in UTC; nonce: None: a new one."""
    headers = {
        "Date": format_datetime(now.replace(microsecond=0), usegmt=True),
        "Accept": "application/json",
        "Host": host,
        "x-acs-signature-method": "HMAC-SHA1",
        "x-acs-signature-nonce": nonce or str(uuid.uuid4()),
        "x-acs-signature-version": "1.0",
        "x-acs-version": "2026-01-18",
    }
    if request.body:
        headers["Content-MD5"] = content_md5(request.body)
        headers["Content-Type"] = "application/json"
    if token.security_token is not None:
        headers["x-acs-security-token"] = token.security_token
    key = token.key_secret.encode()
    signature = base64.b64encode(hmac.new(key, openapi_text(request, headers).encode(), hashlib.sha1).digest())
    headers["Authorization"] = f"acs {token.key_id}:{signature.decode()}"
    return headers


def openapi_text(request: Request, headers: Mapping[str, str]) -> str:
    """What is signed of a request and its headers."""
    lines = [request.method, *(headers.get(name, "") for name in ("Accept", "Content-MD5", "Content-Type", "Date"))]
    acs = sorted((key, text.strip()) for key, text in headers.items() if key.startswith("x-acs-"))
    query = "&".join(f"{key}={text}" if text else key for key, text in sorted(request.query.items()))
    resource = unquote_plus(request.path) + (f"?{query}" if query else "")
    return "\n".join((*lines, *(f"{key}:{text}" for key, text in acs), resource))


def content_md5(body: str) -> str:
    """The header Content-MD5 of a body."""
    return base64.b64encode(hashlib.md5(body.encode(), usedforsecurity=False).digest()).decode()
