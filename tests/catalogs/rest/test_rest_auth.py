"""Signatures and tokens of DLF; the genuine Java client signs the same in tests/interop."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.rest_server import RestServer

from paimon_spark import open_catalog
from paimon_spark.catalogs.rest.auth import FreshToken, dlf4_headers, openapi_text
from paimon_spark.catalogs.rest.dlf_tokens import DlfToken, token_loader
from paimon_spark.catalogs.rest.http import Request
from paimon_spark.catalogs.rest.options import RestOptions
from paimon_spark.errors import OptionError, StorageError, UnsupportedFeature

WHEN = datetime(2023, 12, 3, 12, 12, 12, tzinfo=UTC)


def test_dlf4() -> None:
    """The known answer of Java's DLFAuthSignatureTest (release 2.0.0)."""
    body = '{"name":"database","options":{"a":"b"}}'
    request = Request("POST", "/v1/paimon/databases", {"k1": "v1", "k2": "v2"}, body)
    token = DlfToken("access-key-id", "access-key-secret", "securityToken")
    headers = dlf4_headers(request, token, "cn-hangzhou", WHEN)
    assert headers["Authorization"] == (
        "DLF4-HMAC-SHA256 Credential=access-key-id/20231203/cn-hangzhou/DlfNext/aliyun_v4_request,"
        "Signature=c72caf1d40b55b1905d891ee3e3de48a2f8bebefa7e39e4f277acc93c269c5e3"
    )


def test_openapi_signs_the_decoded_path() -> None:
    """Java: DLFOpenApiSigner.buildStringToSign."""
    headers = {"Accept": "a", "Date": "d", "x-acs-version": "v", "x-acs-a": " 1 "}
    request = Request("GET", "/v1/x/tables/t%24b", {"b": "2 ", "a": ""})
    assert openapi_text(request, headers) == "GET\na\n\n\nd\nx-acs-a:1\nx-acs-version:v\n/v1/x/tables/t$b?a&b=2 "


def _file(path: Path, secret: str, left: int) -> str:
    until = datetime.fromtimestamp(time.time() + left, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    token = {"AccessKeyId": "id", "AccessKeySecret": secret, "SecurityToken": "st", "Expiration": until}
    path.write_text(json.dumps(token))
    return str(path)


def test_a_token_file_is_read_again_an_hour_before_it_expires(tmp_path: Path) -> None:
    path = tmp_path / "token"
    fresh = FreshToken(token_loader(RestOptions({"dlf.token-path": _file(path, "one", 3500)})))
    assert fresh.token().key_secret == "one"
    _file(path, "two", 7200)
    assert fresh.token().key_secret == "two"
    _file(path, "three", 7200)
    assert fresh.token().key_secret == "two"


@pytest.mark.parametrize("text", ["{", "[]", '{"AccessKeyId": "geheim"}', '{"AccessKeyId": 1, "Expiration": "geheim"}'])
def test_a_token_file_that_is_none_is_not_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "token").write_text(text)
    load = token_loader(RestOptions({"dlf.token-path": str(tmp_path / "token")}))
    with pytest.raises(OptionError, match=r"is no token of DLF: expected JSON") as info:
        load()
    assert "geheim" not in str(info.value)


def test_a_token_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="reading the token file"):
        token_loader(RestOptions({"dlf.token-path": str(tmp_path / "no")}))()


def test_other_loaders_and_none() -> None:
    with pytest.raises(UnsupportedFeature, match="is a class of Java"):
        token_loader(RestOptions({"dlf.token-loader": "custom"}))
    with pytest.raises(OptionError, match=r"the credentials of the REST catalog are missing"):
        token_loader(RestOptions({"dlf.access-key-id": "x"}))


@pytest.mark.parametrize("algorithm", ["default", "openapi"])
def test_a_server_that_asks_for_signatures(server: RestServer, algorithm: str) -> None:
    """A request without body, one with query, one with body are signed; a wrong region cannot be guessed."""
    seen: list[str] = []
    allowed = server.allows
    server.allows = lambda method, path, query, body, headers: bool(
        seen.append(headers.get("authorization", "")) or True
    )
    given = {"token.provider": "dlf", "dlf.access-key-id": "id", "dlf.access-key-secret": "geheim", "dlf.region": "r"}
    options = {key: text for key, text in server.options.items() if not key.startswith("token")}
    try:
        catalog = open_catalog({**options, **given, "dlf.signing-algorithm": algorithm})
        catalog.create_database(f"signed {algorithm}")
        assert f"signed {algorithm}" in catalog.list_databases()
    finally:
        server.allows = allowed
    start = "DLF4-HMAC-SHA256 Credential=id/" if algorithm == "default" else "acs id:"
    assert all(text.startswith(start) for text in seen)
    assert not any("geheim" in text for text in seen)
