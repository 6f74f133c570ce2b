"""A cluster of HDFS with two name nodes, of which one is active, and with Kerberos, as a process of its own.

Run as a program it is that process: Hadoop's mini cluster in a JVM. Each line of its input makes the other name node
the active one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark

from support.programs.hive_metastore import write_site
from support.programs.kerberos import keytab_of
from support.servers.builds import ServerUnavailable, maven_jar
from support.servers.storage import HDFS

SERVICE = "lakes"
_PROVIDER = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
_READY, _DONE = "ready ", "done"


@dataclass(frozen=True)
class SecureHdfs:
    """A cluster that runs.

    Attributes:
        settings: a directory of ``core-site.xml`` and ``hdfs-site.xml`` of a client.
        process: the cluster.
    """

    settings: Path
    process: subprocess.Popen[str]

    def fail_over(self) -> None:
        """Makes the other name node the active one."""
        self.ask("fail over")

    def ask(self, line: str) -> str:
        """Sends a line to the process, and waits for its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return _answer(self.process)


@contextmanager
def secure_hdfs(realm: Any, protection: str) -> Iterator[SecureHdfs]:
    """A cluster that runs.

    Args:
        realm: of Kerberos, which gets the principals ``hdfs/localhost`` and ``HTTP/localhost``.
        protection: of what clients and servers say: authentication, integrity or privacy.

    Raises:
        ServerUnavailable: it cannot be had or started here.
    """
    with tempfile.TemporaryDirectory(prefix="secure-hdfs-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        server = _of_both(realm, protection) | _of_servers(realm, folder)
        jars = [str(folder), str(maven_jar(HDFS)), str(Path(pyspark.__file__).parent / "jars" / "*")]
        (folder / "log4j2.properties").write_text("rootLogger.level = error\n")
        write_site(
            folder / "core-site.xml", {key: value for key, value in server.items() if not key.startswith("dfs.")}
        )
        write_site(folder / "hdfs-site.xml", server)
        with (folder / "errors").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, json.dumps(jars), realm.env["KRB5_CONFIG"]],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )  # fmt: skip
        try:
            addresses = _answer(process)
            if not addresses.startswith(_READY):
                raise ServerUnavailable(f"HDFS does not start: {(folder / 'errors').read_text()[-800:]}")
            settings = folder / "client"
            settings.mkdir()
            write_site(settings / "core-site.xml", _of_both(realm, protection) | {"fs.defaultFS": f"hdfs://{SERVICE}"})
            write_site(
                settings / "hdfs-site.xml",
                _of_both(realm, protection) | _of_client(addresses.removeprefix(_READY).split()),
            )
            yield SecureHdfs(settings, process)
        finally:
            process.kill()
            process.wait()


def _answer(process: subprocess.Popen[str]) -> str:
    """The next line that is an answer; "": the process has ended. Java prints others."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith((_READY, _DONE)):
            return line.strip()
    return ""


def _of_both(realm: Any, protection: str) -> dict[str, str]:
    """What a client and the servers know."""
    return {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        "dfs.data.transfer.protection": protection,
        "dfs.namenode.kerberos.principal": f"hdfs/localhost@{realm.realm}",
        "dfs.datanode.kerberos.principal": f"hdfs/localhost@{realm.realm}",
    }


def _of_servers(realm: Any, folder: Path) -> dict[str, str]:
    hdfs, web = (str(keytab_of(realm, f"{name}/localhost@{realm.realm}")) for name in ("hdfs", "HTTP"))
    return {
        "hdfs.minidfs.basedir": str(folder / "data"),
        "hadoop.security.auth_to_local": "RULE:[2:$1](.*)s/.*/hdfs/\nDEFAULT",
        "dfs.namenode.keytab.file": hdfs,
        "dfs.datanode.keytab.file": hdfs,
        "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{realm.realm}",
        "dfs.web.authentication.kerberos.keytab": web,
        "dfs.block.access.token.enable": "true",
        "ignore.secure.ports.for.testing": "true",
        "dfs.permissions.superusergroup": "hdfs",
    }


def _of_client(addresses: list[str]) -> dict[str, str]:
    nodes = {f"nn{number}": address for number, address in enumerate(addresses)}
    return {
        "dfs.nameservices": SERVICE,
        f"dfs.ha.namenodes.{SERVICE}": ",".join(nodes),
        **{f"dfs.namenode.rpc-address.{SERVICE}.{node}": address for node, address in nodes.items()},
        f"dfs.client.failover.proxy.provider.{SERVICE}": _PROVIDER,
    }


def _serve(jars: list[str], krb5_conf: str) -> None:
    import jpype

    jpype.startJVM(
        "-Xmx512m", f"-Djava.security.krb5.conf={krb5_conf}", "-Djava.net.preferIPv4Stack=true", classpath=jars
    )
    hadoop = jpype.JPackage("org.apache.hadoop")
    settings = hadoop.hdfs.HdfsConfiguration()
    hadoop.security.UserGroupInformation.setConfiguration(settings)
    topology = hadoop.hdfs.MiniDFSNNTopology.simpleHATopology(2)
    cluster = hadoop.hdfs.MiniDFSCluster.Builder(settings).nnTopology(topology).numDataNodes(1).build()
    cluster.transitionToActive(0)
    cluster.waitActive(0)
    print(_READY, *(f"localhost:{cluster.getNameNodePort(number)}" for number in range(2)), flush=True)
    active = 0
    for _ in sys.stdin:
        cluster.transitionToStandby(active)
        active = 1 - active
        cluster.transitionToActive(active)
        print(_DONE, flush=True)


if __name__ == "__main__":
    _serve(json.loads(sys.argv[1]), sys.argv[2])
