"""The ways in which users of Google Cloud Storage have credentials: which of them each request brings.

The store is fake-gcs-server, which looks at none, so the tests look at the header. The metadata of a machine are a
stand-in.
"""

from __future__ import annotations

import json
import os
import time
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from support.servers.builds import ServerUnavailable, server_cache
from support.servers.stand_ins import stand_in
from support.servers.storage import StorageServer, fake_gcs

from paimon_spark import create_table, open_table
from paimon_spark.errors import AccessDenied, OptionError, UnsupportedFeature
from paimon_spark.file_io.object_settings import gcs_config
from paimon_spark.file_io.object_store import forget_clients

pytestmark = pytest.mark.server
KEY_FILE, TYPE = "fs.gs.auth.service.account.json.keyfile", "fs.gs.auth.type"


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gcs") / "headers"


@pytest.fixture(scope="module")
def server(headers: Path) -> Iterator[StorageServer]:
    try:
        with fake_gcs(headers) as running:
            yield running
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def place(server: StorageServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Options without credentials, in a process that has none either."""
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "GCE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PAIMON_SERVERS", str(server_cache()))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")
    monkeypatch.setenv("GCE_METADATA_IP", "127.0.0.1:1")
    forget_clients()
    yield {"fs.gs.storage.root.url": server.options["fs.gs.storage.root.url"]}
    forget_clients()


def written(server: StorageServer, headers: Path, options: Mapping[str, str]) -> set[str]:
    """Makes a table and reads it; the credentials that were brought."""
    seen = len(headers.read_text().splitlines())
    path = f"{server.root}/{uuid4().hex}"
    create_table(path, {"id": "INT"}, options=dict(options)).append({"id": [1, 2]})
    assert open_table(path, options).scan().count() == 2
    return set(headers.read_text().splitlines()[seen:])


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture
def key_file(key: rsa.RSAPrivateKey, tmp_path: Path) -> Path:
    """As the console of Google gives it."""
    shapes = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    account = {"type": "service_account", "private_key_id": "7", "client_email": "writer@project"}
    file = tmp_path / "key.json"
    file.write_text(json.dumps({**account, "private_key": key.private_bytes(*shapes).decode()}))
    return file


@pytest.mark.parametrize("way", [KEY_FILE, "GOOGLE_SERVICE_ACCOUNT", "GOOGLE_APPLICATION_CREDENTIALS", "home"])
def test_a_service_account(
    server: StorageServer,
    headers: Path,
    place: dict[str, str],
    key: rsa.RSAPrivateKey,
    key_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    """Each token is signed with the key of the file."""
    options = dict(place)
    if way == KEY_FILE:
        options |= {way: str(key_file), TYPE: "SERVICE_ACCOUNT_JSON_KEYFILE"}
    elif way == "home":
        home = key_file.parent / ".config" / "gcloud"
        home.mkdir(parents=True)
        key_file.rename(home / "application_default_credentials.json")
    else:
        monkeypatch.setenv(way, str(key_file))
    for header in written(server, headers, options):
        message, _, signature = header.removeprefix("Bearer ").rpartition(".")
        key.public_key().verify(_bytes(signature), message.encode(), padding.PKCS1v15(), hashes.SHA256())
        assert json.loads(_bytes(message.partition(".")[2]))["iss"] == "writer@project"


def test_a_machine_whose_tokens_expire(
    server: StorageServer, headers: Path, place: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each token lives for two seconds, and the job for longer."""

    def token(asked: object) -> str:
        return json.dumps({"access_token": uuid4().hex, "expires_in": 2, "token_type": "Bearer"})

    with stand_in({"/computeMetadata/v1/instance/service-accounts/default/token": token}) as machine:
        monkeypatch.setenv("GCE_METADATA_HOST", machine.address.removeprefix("http://"))
        options, found = {**place, TYPE: "COMPUTE_ENGINE"}, set[str]()
        ends = time.monotonic() + 4
        while time.monotonic() < ends:
            found |= written(server, headers, options)
        assert len(machine.asked) > 2
        assert len(found) > 2
        assert machine.asked[0].headers["metadata-flavor"] == "Google"


def test_a_public_bucket(server: StorageServer, headers: Path, place: dict[str, str]) -> None:
    """It is read; the client asks for credentials before it writes."""
    path = f"{server.root}/{uuid4().hex}"
    create_table(path, {"id": "INT"}, options=dict(server.options)).append({"id": [1, 2]})
    seen = len(headers.read_text().splitlines())
    assert open_table(path, {**place, TYPE: "UNAUTHENTICATED"}).scan().count() == 2
    assert set(headers.read_text().splitlines()[seen:]) == {""}


def test_no_credentials(server: StorageServer, place: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match=r"no credentials are given: set the option fs\.gs\.auth\.service"):
        open_table(f"{server.root}/t", place)
    (tmp_path / "key.json").write_text('{"type": "external_account"}')
    with pytest.raises(OptionError, match=r"fs\.gs\.auth\.service\.account\.json\.keyfile"):
        open_table(f"{server.root}/t", {**place, KEY_FILE: str(tmp_path / "key.json")})


def test_types_of_credentials() -> None:
    with pytest.raises(UnsupportedFeature, match=r"'fs\.gs\.auth\.type' is 'USER_CREDENTIALS': supported are SERVICE_"):
        gcs_config({TYPE: "USER_CREDENTIALS"})
    with pytest.raises(OptionError, match="no file of keys is named"):
        gcs_config({TYPE: "SERVICE_ACCOUNT_JSON_KEYFILE"})
    assert gcs_config({TYPE: "APPLICATION_DEFAULT", KEY_FILE: "x"}) == ()


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
