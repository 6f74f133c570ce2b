"""Who asks a REST server: bearer tokens and the signatures of DLF (Java: AuthProvider, DLFDefaultSigner)."""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from paimon_spark.catalogs.rest import options as ro
from paimon_spark.catalogs.rest.dlf_tokens import DlfToken, token_loader
from paimon_spark.catalogs.rest.http import Request
from paimon_spark.catalogs.rest.openapi_signature import content_md5, openapi_headers
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
