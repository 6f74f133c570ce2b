"""HDFS as clusters have it: Kerberos, encrypted messages, a service of two name nodes of which one is active, viewfs.

The cluster is Hadoop's mini cluster, and the key distribution centre that of MIT.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from support.long_runs import LONG
from support.programs.hive_metastore import write_site
from support.programs.kerberos import NoKerberos, kerberos_realm, keytab_of
from support.programs.secure_hdfs import SERVICE, SecureHdfs, secure_hdfs
from support.servers.builds import ServerUnavailable

from paimon_spark import create_table, open_table
from paimon_spark.errors import StorageError
from paimon_spark.file_io import file_io_for

pytestmark = pytest.mark.server
LAKE = f"hdfs://{SERVICE}"


@pytest.fixture(scope="module")
def realm() -> Iterator[Any]:
    try:
        with kerberos_realm() as made:
            yield made
    except NoKerberos as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module", params=["privacy", *(["integrity", "authentication"] if LONG else [])])
def cluster(realm: Any, request: pytest.FixtureRequest) -> Iterator[SecureHdfs]:
    try:
        with secure_hdfs(realm, request.param) as made:
            yield made
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def new_client(realm: Any, cluster: SecureHdfs, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of a client without a ticket. Returns: options that no connection has yet."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.settings))
    monkeypatch.setenv("KRB5_CONFIG", realm.env["KRB5_CONFIG"])
    monkeypatch.setenv("KRB5CCNAME", str(Path(realm.tmpdir) / uuid4().hex))
    return {"hadoop.of.test": uuid4().hex}


@pytest.fixture
def owner(realm: Any, new_client: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """As new_client, with the keys of the user that owns the file system."""
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(Path(realm.tmpdir) / f"hdfs_localhost@{realm.realm}"))
    return new_client


def test_a_table_over_a_failover(owner: dict[str, str], cluster: SecureHdfs) -> None:
    path = f"{LAKE}/{uuid4().hex}"
    table = create_table(path, pa.schema([("id", pa.int64())]), "id", options=owner)
    table.append({"id": [1]})
    cluster.fail_over()
    table.append({"id": [2]})
    cluster.fail_over()
    assert sorted(open_table(path, owner).scan().to_arrow()["id"].to_pylist()) == [1, 2]


def test_one_of_many_makes_a_file(owner: dict[str, str]) -> None:
    path = f"{LAKE}/{uuid4().hex}/x"
    io = file_io_for(path, owner)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda number: io.create_if_absent(path, b"%d" % number), range(8)))
    assert sorted(made) == [False] * 7 + [True]
    assert io.read_bytes(path) == b"%d" % made.index(True)


def test_a_ticket(realm: Any, new_client: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Path(realm.tmpdir) / f"hdfs_localhost@{realm.realm}"
    realm.kinit(f"hdfs/localhost@{realm.realm}", flags=["-k", "-t", str(keys)])
    monkeypatch.setenv("KRB5CCNAME", realm.ccache)
    io = file_io_for(LAKE, new_client)
    io.write_bytes(f"{LAKE}/of ticket", b"1")
    assert io.read_bytes(f"{LAKE}/of ticket") == b"1"


def test_logins_that_fail(realm: Any, new_client: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    told = r"the login by Kerberos has failed \(.*\): run kinit, or set KRB5_CLIENT_KTNAME to a keytab"
    with pytest.raises(StorageError, match=told):
        file_io_for(LAKE, new_client).list(LAKE)
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(keytab_of(realm, f"anna@{realm.realm}")))
    with pytest.raises(StorageError, match="Permission denied; give the user of this process"):
        file_io_for(LAKE, new_client).write_bytes(f"{LAKE}/of anna", b"1")


def test_viewfs(owner: dict[str, str], cluster: SecureHdfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    links = {
        "fs.viewfs.mounttable.all.link./sales": f"{LAKE}/shop",
        "fs.viewfs.mounttable.all.linkFallback": f"{LAKE}/",
    }
    for name, more in (("core-site.xml", links), ("hdfs-site.xml", {})):
        written = (cluster.settings / name).read_text()
        write_site(tmp_path / "more", more)
        lines = (tmp_path / "more").read_text().splitlines()[1:-1]
        (tmp_path / name).write_text(written.replace("</configuration>", "\n".join((*lines, "</configuration>"))))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    create_table("viewfs://all/sales/t", pa.schema([("id", pa.int64())]), options=owner).append({"id": [1]})
    assert open_table("viewfs://all/sales/t", owner).scan().to_arrow()["id"].to_pylist() == [1]
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.settings))
    assert open_table(f"{LAKE}/shop/t", owner).scan().to_arrow()["id"].to_pylist() == [1]
