"""The ways in which users of Azure have credentials, each with Azurite, which checks keys, signatures and tokens.

What hands out tokens (Entra ID, the identity of a machine) is a stand-in. Azurite checks who a token is for, who has
made it and when it ends, and not its signature.
"""

from __future__ import annotations

import hmac
import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from support.servers.builds import ServerUnavailable
from support.servers.stand_ins import Asked, Refused, bearer, certificate_of_loopback, stand_in
from support.servers.storage import AZURE_ACCOUNT, AZURE_KEY, BUCKET, StorageServer, azurite

from paimon_spark import create_table, open_table
from paimon_spark.errors import AccessDenied, StorageError, UnsupportedFeature
from paimon_spark.file_io.object_settings import adapted_azure, azure_config
from paimon_spark.file_io.object_store import forget_clients

pytestmark = pytest.mark.server
HOST = f"{AZURE_ACCOUNT}.dfs.core.windows.net"
STORAGE, ISSUER = "https://storage.azure.com", "https://sts.windows.net/ours/"
TYPE, OAUTH = "fs.azure.account.oauth.provider.type", "fs.azure.account.oauth2"
VERSION = "2021-12-02"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate_of_loopback(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def server(certificate: tuple[Path, Path]) -> Iterator[StorageServer]:
    try:
        with azurite(certificate) as running:
            yield running
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def place(
    server: StorageServer, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """Options without credentials, in a process that has none either, and trusts the server."""
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    monkeypatch.setenv("AZURE_IDENTITY_ENDPOINT", "http://127.0.0.1:1/metadata/identity/oauth2/token")
    forget_clients()
    yield {"fs.azure.endpoint": server.options["fs.azure.endpoint"]}
    forget_clients()


def write(server: StorageServer, options: Mapping[str, str]) -> None:
    path = f"{server.root}/{uuid4().hex}"
    create_table(path, {"id": "INT"}, options=dict(options)).append({"id": [1, 2]})
    assert open_table(path, options).scan().count() == 2


def told(server: StorageServer, options: Mapping[str, str]) -> str:
    with pytest.raises(AccessDenied) as raised:
        open_table(f"{server.root}/t", options)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def signature(lives: timedelta, rights: str = "racwdl") -> str:
    """A shared access signature of the container (Azure: Create a service SAS)."""
    ends = (datetime.now(UTC) + lives).strftime("%Y-%m-%dT%H:%M:%SZ")
    parts = (rights, "", ends, f"/blob/{AZURE_ACCOUNT}/{BUCKET}", "", "", "", VERSION, "c", *[""] * 7)
    signed = hmac.new(b64decode(AZURE_KEY), "\n".join(parts).encode(), "sha256").digest()
    return urlencode({"sp": rights, "se": ends, "sv": VERSION, "sr": "c", "sig": b64encode(signed).decode()})


def test_the_key_of_an_account(server: StorageServer, place: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By options, of this account beside another one, and by the environment."""
    other = {"fs.azure.account.key.another.dfs.core.windows.net": "AAAA"}
    write(server, {**place, **other, f"fs.azure.account.key.{HOST}": AZURE_KEY})
    write(server, {**place, **other, "fs.azure.account.key": AZURE_KEY})
    assert "no credentials are given" in told(server, {**place, **other})
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", AZURE_KEY)
    write(server, place)


def test_a_shared_access_signature(server: StorageServer, place: dict[str, str]) -> None:
    name = f"fs.azure.sas.fixed.token.{HOST}"
    write(server, {**place, name: signature(timedelta(hours=1))})
    write(server, {**place, name: signature(timedelta(hours=1)), "fs.azure.account.auth.type": "SAS"})
    expired = told(server, {**place, name: signature(timedelta(hours=-1))})  # Azurite does not say that it is old
    assert "the credentials do not permit it (AuthorizationFailure" in expired
    assert "fs.azure.sas.fixed.token.<account>.dfs.core.windows.net" in expired
    forged = signature(timedelta(hours=1)).replace("sp=racwdl", "sp=racwdlx")
    assert "the credentials do not permit it (AuthorizationFailure" in told(server, {**place, name: forged})
    with pytest.raises(StorageError, match=r"the credentials do not permit it .*: ask for the right to read"):
        create_table(
            f"{server.root}/{uuid4().hex}", {"id": "INT"}, options={**place, name: signature(timedelta(hours=1), "rl")}
        )


def test_a_service_principal(
    server: StorageServer, place: dict[str, str], certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with stand_in({"/ours/oauth2": lambda asked: bearer(STORAGE, ISSUER)}, certificate) as entra:
        options = {
            **place,
            "fs.azure.account.auth.type": "OAuth",
            TYPE: "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider",
            f"{OAUTH}.client.id": "me",
            f"{OAUTH}.client.secret": "hush",
            f"{OAUTH}.client.endpoint": f"{entra.address}/ours/oauth2/token",
        }
        write(server, options)
        assert (entra.asked[-1].form["client_id"], entra.asked[-1].form["client_secret"]) == ("me", "hush")
        for name, value in (("CLIENT_ID", "me"), ("CLIENT_SECRET", "hush"), ("TENANT_ID", "ours")):
            monkeypatch.setenv(f"AZURE_{name}", value)
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", entra.address)
        count = len(entra.asked)
        write(server, place)
        assert len(entra.asked) == count + 1


def test_a_secret_that_entra_does_not_know(
    server: StorageServer, place: dict[str, str], certificate: tuple[Path, Path]
) -> None:
    def refuse(asked: Asked) -> str:
        raise Refused(401, json.dumps({"error": "invalid_client", "error_description": "AADSTS7000215: wrong secret"}))

    with stand_in({"/": refuse}, certificate) as entra:
        given = {"client.id": "me", "client.secret": "x", "client.endpoint": f"{entra.address}/ours/oauth2/token"}
        sentence = told(server, {**place, **{f"{OAUTH}.{name}": value for name, value in given.items()}})
    assert "do not permit it" in sentence or "fs.azure.account.oauth2.client.secret" in sentence


def test_a_workload_identity(
    server: StorageServer, place: dict[str, str], certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    """Of a pod of Kubernetes."""
    (tmp_path / "token").write_text("token-of-pod")
    with stand_in({"/ours/oauth2": lambda asked: bearer(STORAGE, ISSUER)}, certificate) as entra:
        options = {
            **place,
            TYPE: "WorkloadIdentityTokenProvider",
            f"{OAUTH}.client.id": "me",
            f"{OAUTH}.client.endpoint": f"{entra.address}/ours/oauth2/token",
            f"{OAUTH}.token.file": str(tmp_path / "token"),
        }
        write(server, options)
        assert entra.asked[-1].form["client_assertion"] == "token-of-pod"


def test_a_machine_whose_tokens_expire(
    server: StorageServer, place: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A managed identity: each token lives for five seconds, and the job for longer."""
    with stand_in({"/": lambda asked: bearer(STORAGE, ISSUER, timedelta(seconds=5))}) as machine:
        monkeypatch.setenv("AZURE_IDENTITY_ENDPOINT", f"{machine.address}/metadata/identity/oauth2/token")
        path = f"{server.root}/{uuid4().hex}"
        options = {**place, TYPE: "MsiTokenProvider"}
        table = create_table(path, {"id": "INT"}, options=options)
        ends = datetime.now(UTC) + timedelta(seconds=8)
        count = 0
        while datetime.now(UTC) < ends:
            table.append({"id": [count]})
            count += 1
        assert open_table(path, options).scan().count() == count
        assert len(machine.asked) > 2


def test_which_settings_are_those_of_an_account() -> None:
    config = dict(
        azure_config(
            {
                "fs.azure.account.key.a.dfs.core.windows.net": "of a",
                "fs.azure.account.key.b.blob.core.windows.net": "of b",
                "fs.azure.account.auth.type": "SharedKey",
            }
        )
    )
    assert adapted_azure(config, "c@b.dfs.core.windows.net") == {"account_key": "of b", "credential_type": "access_key"}
    assert adapted_azure(config, "c@c.dfs.core.windows.net") == {"credential_type": "access_key"}


def test_the_account_of_a_path_without_one_gets_its_own_settings_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the signature of one account would be sent to another."""
    config = dict(azure_config({"fs.azure.sas.fixed.token.a.dfs.core.windows.net": "sig=of-a"}))
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    assert adapted_azure(config, "c") == {"sas_key": "sig=of-a"}
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "a")
    assert adapted_azure(config, "c") == {"sas_key": "sig=of-a"}
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "b")
    assert adapted_azure(config, "c") == {}
    assert adapted_azure(config, "c@a.dfs.core.windows.net") == {"sas_key": "sig=of-a"}


@pytest.mark.parametrize(
    ("option", "value"), [("fs.azure.account.auth.type", "Custom"), (TYPE, "x.UserPasswordTokenProvider")]
)
def test_ways_that_are_refused(option: str, value: str) -> None:
    with pytest.raises(UnsupportedFeature, match=f"the option '{option}' is '{value}': supported are"):
        adapted_azure(dict(azure_config({option: value})), "c@a.dfs.core.windows.net")
