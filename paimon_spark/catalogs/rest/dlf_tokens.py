"""The tokens of DLF and where they come from (Java: DLFToken, DLFTokenLoader)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import urllib3
from urllib3.exceptions import HTTPError

from paimon_spark.catalogs.rest import options as ro
from paimon_spark.catalogs.rest.failures import NotReached
from paimon_spark.errors import OptionError, StorageError, UnsupportedFeature

_ECS_URL = "http://100.100.100.200/latest/meta-data/Ram/security-credentials/"
_EXPIRATION = "%Y-%m-%dT%H:%M:%SZ"
_ECS_TIMEOUT = urllib3.Timeout(connect=10, read=60)


@dataclass(frozen=True)
class DlfToken:
    """Credentials of DLF. expires_millis: since the epoch; None: never."""

    key_id: str
    key_secret: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)
    expires_millis: int | None = None

    def expires_within(self, millis: int, now: int) -> bool:
        """True if less than so many milliseconds are left. now: epoch millis."""
        return self.expires_millis is not None and self.expires_millis - now < millis


def token_loader(options: ro.RestOptions) -> Callable[[], DlfToken]:
    """What loads the token that the options name.

    Raises:
        OptionError: they name none.
        UnsupportedFeature: they name a loader that this release does not have.
    """
    loader, path = options.get(ro.DLF_TOKEN_LOADER), options.get(ro.DLF_TOKEN_PATH)
    if loader == "ecs":
        url, role = options.get(ro.DLF_ECS_URL) or _ECS_URL, options.get(ro.DLF_ECS_ROLE)
        return lambda: _of_ecs(url, role)
    if loader not in (None, "local_file"):
        raise UnsupportedFeature(
            f"opening the REST catalog: '{ro.DLF_TOKEN_LOADER}' = '{loader}' is a class of Java; this release has "
            "'local_file' and 'ecs'"
        )
    if path is not None:
        return lambda: _of_file(path)
    key_id, secret = options.get(ro.DLF_KEY_ID), options.get(ro.DLF_KEY_SECRET)
    if loader is not None or key_id is None or secret is None:
        raise OptionError(
            f"the credentials of the REST catalog are missing: give '{ro.DLF_TOKEN_PATH}', or '{ro.DLF_KEY_ID}' and "
            f"'{ro.DLF_KEY_SECRET}'"
        )
    token = DlfToken(key_id, secret, options.get(ro.DLF_SECURITY_TOKEN))
    return lambda: token


def _of_file(path: str) -> DlfToken:
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise StorageError.of("reading the token file", path, error) from None
    return _parsed(text, f"the token file {path}")


def _of_ecs(url: str, role: str | None) -> DlfToken:
    base = url if url.endswith("/") else f"{url}/"
    return _parsed(_asked(base + (role or _asked(base).strip())), f"the answer of {url}")


def _asked(url: str) -> str:
    try:
        answer = urllib3.request("GET", url, timeout=_ECS_TIMEOUT, retries=urllib3.Retry(3, backoff_factor=0.3))
    except HTTPError as error:
        raise NotReached(f"asking {url} for a token: no answer ({type(error).__name__})") from None
    if answer.status != 200:
        raise NotReached(f"asking {url} for a token: the answer has the status {answer.status}")
    return answer.data.decode()


def _parsed(text: str, where: str) -> DlfToken:
    """The token in a JSON text, which no error shows."""
    try:
        json_token = json.loads(text)
        until = json_token.get("Expiration")
        millis = None
        if until is not None:
            millis = round(datetime.strptime(until, _EXPIRATION).replace(tzinfo=UTC).timestamp() * 1000)
        return DlfToken(json_token["AccessKeyId"], json_token["AccessKeySecret"], json_token["SecurityToken"], millis)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise OptionError(
            f"{where} is no token of DLF: expected JSON with AccessKeyId, AccessKeySecret, SecurityToken and perhaps "
            f"Expiration ({_EXPIRATION})"
        ) from None
