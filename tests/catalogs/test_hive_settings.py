"""The options of a Hive catalog, and the types of Hive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

from paimon_spark import open_catalog
from paimon_spark.catalogs.hive.hive_types import hive_type, paimon_type
from paimon_spark.catalogs.hive.security import KERBEROS, KEYTAB, LOGIN, SERVER
from paimon_spark.catalogs.hive.settings import read_settings
from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField, DataType, Root

NEEDED = {"metastore": "hive", "uri": "thrift://one:9083", "warehouse": "/lake"}
GUARDED = {KERBEROS: "true", SERVER: "hive/_HOST@LAKE"}
SITE = """<?xml version="1.0"?><configuration>
<property><name>hive.metastore.uris</name><value>thrift://site:1,thrift://other</value></property>
<property><name>hive.metastore.warehouse.dir</name><value>s3://site/lake</value></property>
<property><name>hive.metastore.client.socket.timeout</name><value>7</value></property>{more}</configuration>"""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"uri": ""}, "'uri' of the hive catalog is missing"),
        ({"warehouse": " "}, "'warehouse' of the hive catalog is missing"),
        ({"uri": "http://one:1"}, "expected thrift://<host>:<port>"),
        ({"uri": "thrift://one:x"}, "expected thrift://<host>:<port>"),
        ({"client-pool-size": "0"}, "it must be 1 or more"),
        ({"table.type": "odd"}, "expected managed or external"),
        ({"hive-conf-dir": "/nowhere"}, "hive-site.xml cannot be read"),
        ({"hive.odd": "1"}, "'hive.odd' of the catalog is not known"),
        ({"location-in-properties": "yes"}, "expected true or false"),
        ({"hive.metastore.client.socket.timeout": "soon"}, "'soon'"),
        ({KERBEROS: "true"}, "'hive.metastore.kerberos.principal' of the hive catalog is missing"),
        ({KERBEROS: "perhaps"}, "expected true or false"),
        ({**GUARDED, SERVER: "hive"}, "expected <service>/<host>@<REALM>"),
        ({**GUARDED, LOGIN: "me"}, f"'{LOGIN}' of the hive catalog needs '{KEYTAB}'"),
        ({**GUARDED, KEYTAB: "/etc/hosts"}, f"'{KEYTAB}' of the hive catalog needs '{LOGIN}'"),
        ({**GUARDED, "security.principal": "me", "security.keytab": "/nowhere"}, "which this process cannot read"),
        ({LOGIN: "me", KEYTAB: "/etc/hosts"}, "is of no use, as 'hive.metastore.sasl.enabled' is not true"),
        ({**GUARDED, "security.kerberos.login.use-ticket-cache": "false"}, "give one with its"),
    ],
)
def test_options_that_cannot_be(more: dict[str, str], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        open_catalog({**NEEDED, **more})


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"hive.metastore.use.http.transport": "true"}, "asks for a protocol that this release does not speak"),
        ({"metastore.client.auth.mode": "JWT"}, "'JWT' asks for a protocol"),
        ({"lock.type": "zookeeper"}, "'lock.type' = 'zookeeper'"),
        ({"metastore.client.class": "com.acme.Client"}, "is a Java class"),
        ({"hadoop-conf-dir": "/etc/hadoop"}, "'hadoop-conf-dir' are not read"),
    ],
)
def test_what_is_refused_by_name(more: dict[str, str], words: str) -> None:
    with pytest.raises(UnsupportedFeature, match=words):
        open_catalog({**NEEDED, **more})


def test_options_of_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read_settings({**NEEDED, "client-pool-cache.keys": "ugi", "hive.skip-update-stats": "true"})
    assert (found.uris, found.warehouse, found.skips_statistics) == ((("one", 9083),), "/lake", True)
    assert not found.locked
    assert read_settings({**NEEDED, "warehouse": "s3://lake"}).locked
    (tmp_path / "hive-site.xml").write_text(SITE.format(more=""))
    of_site = read_settings({"hive-conf-dir": str(tmp_path)})
    assert (of_site.uris, of_site.warehouse) == ((("site", 1), ("other", 9083)), "s3://site/lake")
    assert of_site.timeout == 7000
    monkeypatch.setenv("HIVE_CONF_DIR", str(tmp_path))
    assert read_settings(NEEDED).uris == (("one", 9083),)
    more = {**GUARDED, "hive.metastore.use.SSL": "true", "hive.metastore.truststore.path": "/trust.pem"}
    written = "".join(f"<property><name>{key}</name><value>{value}</value></property>" for key, value in more.items())
    (tmp_path / "hive-site.xml").write_text(SITE.format(more=written))
    security = read_settings(NEEDED).security
    assert (security.server, security.is_encrypted, security.truststore) == ("hive/_HOST@LAKE", True, "/trust.pem")
    assert read_settings({**NEEDED, KERBEROS: "false"}).security.server is None
    http = "<property><name>hive.metastore.use.http.transport</name><value>true</value></property>"
    (tmp_path / "hive-site.xml").write_text(SITE.format(more=http))
    with pytest.raises(UnsupportedFeature, match="asks for a protocol"):
        read_settings(NEEDED)
    (tmp_path / "hive-site.xml").write_text(SITE.format(more="").replace("s3://site", "${home}"))
    with pytest.raises(OptionError, match="variables are not replaced"):
        read_settings({"hive-conf-dir": str(tmp_path)})
    (tmp_path / "hive-site.xml").write_text("<x")
    with pytest.raises(OptionError, match="is no XML"):
        read_settings(NEEDED)


@pytest.mark.parametrize(
    ("text", "hive"),
    [
        ("CHAR(255)", "char(255)"),
        ("CHAR(256)", "string"),
        ("VARCHAR(65535)", "varchar(65535)"),
        ("VARCHAR(65536)", "string"),
        ("STRING", "string"),
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("TIME(3)", "string"),
        ("TIMESTAMP(3)", "timestamp"),
        ("BYTES", "binary"),
        ("MULTISET<INT>", "map<int,int>"),
        ("VARIANT", "struct<value:binary,metadata:binary>"),
        ("MAP<STRING, ARRAY<INT>>", "map<string,array<int>>"),
        ("ROW<a INT, b ROW<c DATE>>", "struct<a:int,b:struct<c:date>>"),
    ],
)
def test_types_for_hive(text: str, hive: str) -> None:
    assert hive_type(parse_type(text)) == hive


def test_instants() -> None:
    zoned = parse_type("ARRAY<TIMESTAMP(3) WITH LOCAL TIME ZONE>")
    assert hive_type(zoned) == "array<timestamp>"
    assert hive_type(zoned, True) == "array<timestamp with local time zone>"
    assert paimon_type("timestamp with local time zone").root == Root.TIMESTAMP_LTZ


SIMPLE = st.sampled_from(["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DATE", "STRING",
                          "BYTES", "TIMESTAMP(6)",
                          "DECIMAL(38, 18)", "CHAR(3)", "VARCHAR(7)"]).map(parse_type)  # fmt: skip


def nested(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[DataType]:
    rows = st.lists(inner, min_size=1, max_size=3).map(
        lambda types: DataType(Root.ROW, fields=tuple(DataField(n, f"f{n}", t) for n, t in enumerate(types)))
    )
    arrays = inner.map(lambda one: DataType(Root.ARRAY, element=one))
    return st.one_of(rows, arrays, st.tuples(SIMPLE, inner).map(lambda p: DataType(Root.MAP, key=p[0], element=p[1])))


@given(st.recursive(SIMPLE, nested, max_leaves=6))
def test_types_come_back(one: DataType) -> None:
    assert paimon_type(hive_type(one)) == one


@pytest.mark.parametrize("text", ["uniontype<int>", "array<int", "map<int>", "char", "decimal(x)", "", "int>", "void"])
def test_types_that_are_none(text: str) -> None:
    with pytest.raises(UnsupportedFeature, match="there is no such type"):
        paimon_type(text)


def test_decimals_without_a_scale() -> None:
    assert paimon_type("decimal") == DataType(Root.DECIMAL, precision=10, scale=0)
    assert paimon_type("decimal(5)") == DataType(Root.DECIMAL, precision=5, scale=0)


def test_the_client_prints_nothing_of_its_own(tmp_path: Path) -> None:
    """What Thrift logs where nobody has set up logging; the error tells it."""
    options = {**NEEDED, "uri": "thrift://localhost:1", "warehouse": str(tmp_path)}
    program = f"""
from paimon_spark import open_catalog
from paimon_spark.errors import CatalogUnavailable
try:
    open_catalog({options!r}).list_databases()
except CatalogUnavailable as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stderr == ""
    assert "gives no answer" in done.stdout
