"""The signature of Alibaba Cloud's OpenAPI, for servers of DlfNext/2026-01-18 (Java: DLFOpenApiSigner)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import uuid
from collections.abc import Mapping
from datetime import datetime
from email.utils import format_datetime
from urllib.parse import unquote_plus

from paimon_spark.catalogs.rest.dlf_tokens import DlfToken
from paimon_spark.catalogs.rest.http import Request


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
