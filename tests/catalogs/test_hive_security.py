"""Metastores that ask for Kerberos or TLS: real ones, with a real KDC and certificates that a test authority signed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.long_runs import LONG
from support.programs.hive_metastore import HiveMetastore, NoMetastore, hive_metastore
from support.programs.kerberos import NoKerberos, kerberos_realm, keytab_of
from support.tables.catalog_tables import append, ids_of, schema

from paimon_spark import open_catalog
from paimon_spark.catalogs.hive.names import HiveNames
from paimon_spark.catalogs.hive.travel import connection_text
from paimon_spark.catalogs.identifier import Identifier
from paimon_spark.errors import CatalogUnavailable, OptionError, UnsupportedFeature

REALM = "KRBTEST.COM"
SERVER = f"hive/_HOST@{REALM}"
USER = f"anna@{REALM}"
PASSWORD = "secret of the store"
PROTECTIONS = ["privacy", *(["integrity", "authentication"] if LONG else [])]


@pytest.fixture(scope="module")
def realm() -> Iterator[Any]:
    try:
        with kerberos_realm() as made:
            yield made
    except NoKerberos as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module", params=PROTECTIONS)
def guarded(realm: Any, request: pytest.FixtureRequest) -> Iterator[HiveMetastore]:
    """A metastore that asks for Kerberos."""
    principal = f"hive/localhost@{REALM}"
    path = Path(realm.tmpdir) / principal.replace("/", "_")
    settings = {
        "java.security.krb5.conf": realm.env["KRB5_CONFIG"],
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": request.param,
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": principal,
        "hive.metastore.kerberos.keytab.file": str(path if path.exists() else keytab_of(realm, principal)),
    }
    try:
        with hive_metastore(settings) as made:
            yield made
    except NoMetastore as reason:
        pytest.skip(str(reason))


@pytest.fixture
def login(realm: Any, guarded: HiveMetastore, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The options of a catalog of a user with a keytab and without a ticket."""
    monkeypatch.setenv("KRB5_CONFIG", realm.env["KRB5_CONFIG"])
    monkeypatch.setenv("KRB5CCNAME", str(Path(realm.tmpdir) / "no tickets"))
    path = Path(realm.tmpdir) / USER
    return {
        **options_of(guarded),
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": SERVER,
        "security.kerberos.login.principal": USER,
        "security.kerberos.login.keytab": str(path if path.exists() else keytab_of(realm, USER)),
    }


def options_of(metastore: HiveMetastore) -> dict[str, str]:
    return {"metastore": "hive", "uri": metastore.uri, "warehouse": f"{metastore.folder}/lake"}


def without(options: dict[str, str], *beginnings: str) -> dict[str, str]:
    return {key: text for key, text in options.items() if not key.startswith(beginnings)}


def use(options: dict[str, str], database: str) -> None:
    """Makes, writes, reads and drops a table."""
    catalog, orders = open_catalog({**options, "lock.enabled": "true"}), Identifier(database, "orders")
    catalog.create_database(database)
    catalog.create_table(orders, schema())
    append(catalog.load_table(orders), 1)
    assert ids_of(open_catalog(options).load_table(orders)) == [1]
    catalog.drop_database(database, cascade=True)


def test_a_keytab(login: dict[str, str]) -> None:
    use(login, "by_keytab")


def test_a_ticket(realm: Any, login: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRB5CCNAME", realm.ccache)
    realm.kinit(USER, flags=["-k", "-t", login["security.kerberos.login.keytab"]])
    use(without(login, "security."), "by_ticket")


def test_the_owner_is_who_has_logged_in(login: dict[str, str]) -> None:
    catalog = open_catalog(login)
    assert isinstance(catalog.names, HiveNames)
    assert catalog.names.metastore.user == "anna"


def test_logins_that_fail(realm: Any, login: dict[str, str]) -> None:
    with pytest.raises(CatalogUnavailable, match=r"with the user's ticket has failed.* run kinit"):
        open_catalog({**without(login, "security."), "client-pool-size": "3"}).list_databases()  # it is not yet known
    stranger = {**login, "security.kerberos.login.principal": f"berta@{REALM}"}
    with pytest.raises(CatalogUnavailable, match=r"as berta@KRBTEST.COM with the keys in .* has failed"):
        open_catalog(stranger).list_databases()
    other = {**login, "hive.metastore.kerberos.principal": f"hdfs/_HOST@{REALM}"}
    with pytest.raises(CatalogUnavailable, match="the server's principal is right"):
        open_catalog(other).list_databases()


def test_a_client_without_kerberos_is_told(login: dict[str, str]) -> None:
    with pytest.raises(CatalogUnavailable, match=r"'hive\.metastore\.sasl\.enabled' = 'true' for Kerberos"):
        open_catalog(
            {**without(login, "security.", "hive."), "hive.metastore.client.socket.timeout": "5"}
        ).list_databases()


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a key of localhost for the server, and its certificate in several formats."""
    keytool = shutil.which("keytool") or f"{os.environ.get('JAVA_HOME', '')}/bin/keytool"
    folder = tmp_path_factory.mktemp("stores")

    def run(*arguments: str) -> None:
        secrets = ("-storepass", PASSWORD, "-alias", "metastore")
        subprocess.run([keytool, *arguments, *secrets], cwd=folder, check=True, capture_output=True)

    run("-genkeypair", "-keyalg", "EC", "-dname", "CN=localhost", "-ext", "san=dns:localhost",
        "-keystore", "server.p12", "-storetype", "PKCS12")  # fmt: skip
    run("-exportcert", "-rfc", "-keystore", "server.p12", "-file", "trust.pem")
    for name, kind in (("trust.p12", "PKCS12"), ("trust.jks", "JKS")):
        run("-importcert", "-noprompt", "-file", "trust.pem", "-keystore", name, "-storetype", kind)
    return folder


@pytest.fixture(scope="module")
def encrypted(stores: Path) -> Iterator[HiveMetastore]:
    """A metastore that asks for TLS, with frames and in the compact protocol."""
    settings = {
        "hive.metastore.use.SSL": "true",
        "hive.metastore.keystore.path": str(stores / "server.p12"),
        "hive.metastore.keystore.password": PASSWORD,
        "hive.metastore.thrift.framed.transport.enabled": "true",
        "hive.metastore.thrift.compact.protocol.enabled": "true",
    }
    try:
        with hive_metastore(settings) as made:
            yield made
    except NoMetastore as reason:
        pytest.skip(str(reason))


def encrypted_options(metastore: HiveMetastore, truststore: Path | None) -> dict[str, str]:
    named = {} if truststore is None else {"hive.metastore.truststore.path": str(truststore)}
    return {
        **options_of(metastore),
        **named,
        "hive.metastore.use.SSL": "true",
        "hive.metastore.truststore.password": PASSWORD,
        "hive.metastore.thrift.framed.transport.enabled": "true",
        "hive.metastore.thrift.compact.protocol.enabled": "true",
    }


@pytest.mark.parametrize("name", ["trust.pem", "trust.p12"])
def test_certificates(encrypted: HiveMetastore, stores: Path, name: str) -> None:
    use(encrypted_options(encrypted, stores / name), "encrypted")


def test_certificates_that_do_not_serve(encrypted: HiveMetastore, stores: Path, tmp_path: Path) -> None:
    with pytest.raises(CatalogUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
        open_catalog(encrypted_options(encrypted, None)).list_databases()
    by_number = {**encrypted_options(encrypted, stores / "trust.pem"), "uri": f"thrift://127.0.0.1:{encrypted.port}"}
    with pytest.raises(CatalogUnavailable, match=r"certificate is not valid for '127.0.0.1'|IP address mismatch"):
        open_catalog(by_number).list_databases()
    with pytest.raises(UnsupportedFeature, match="key store of Java's own format; convert it with keytool"):
        open_catalog(encrypted_options(encrypted, stores / "trust.jks")).list_databases()
    (tmp_path / "odd").write_bytes(b"odd")
    for path in (tmp_path / "odd", tmp_path / "missing"):
        with pytest.raises(OptionError, match="no file of certificates"):
            open_catalog(encrypted_options(encrypted, path)).list_databases()
    wrong = {**encrypted_options(encrypted, stores / "trust.p12"), "hive.metastore.truststore.password": "odd"}
    with pytest.raises(OptionError, match="no file of certificates"):
        open_catalog(wrong).list_databases()


def test_the_password_stays_in_the_process(encrypted: HiveMetastore, stores: Path) -> None:
    catalog = open_catalog(encrypted_options(encrypted, stores / "trust.p12"))
    assert isinstance(catalog.names, HiveNames)
    assert PASSWORD not in repr(catalog.names.metastore)
    assert PASSWORD not in repr(catalog)
    assert PASSWORD not in connection_text(encrypted_options(encrypted, stores / "trust.p12"))
