"""A Hive metastore as a process of its own, with its names in memory (Derby). Its jars are those that PySpark ships.

Run as a program it is that process. It makes the tables of the locks first, which a metastore does by itself only in
Hive's own tests, where it refuses the locks that Java's catalog asks for.
"""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark
from tenacity import Retrying, stop_after_delay, wait_fixed

from paimon_spark.catalogs.factory import open_catalog

_PACKAGES = ("java.net", "java.util", "java.lang", "java.util.concurrent", "java.nio")
_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.metastore.disallow.incompatible.col.type.changes": "false",  # as the guide of Java's catalog has it
    "hive.metastore.server.min.threads": "2",
    "datanucleus.connectionPoolingType": "dbcp",  # nor BoneCP
    "hive.async.log.enabled": "false",  # PySpark does not ship what it needs
}

# Each request for a lock takes two connections: with 10 of them, its default, 16 clients that ask at once leave the
# metastore waiting for itself; after 30 s it refuses some, and keeps what they asked for. DataNucleus fails if this is
# a property of the system.
_SITE = {"datanucleus.connectionPool.maxPoolSize": "64"}
_OF_HADOOP = "hadoop."
"""The beginning of settings that Hadoop reads from its own file, core-site.xml."""

NO_SETTINGS: Mapping[str, str] = {}
FORGETS_LOCKS = {"hive.txn.timeout": "4s"}
"""Of a metastore that takes a client for dead whose lock is 4 s old; others do so after 5 minutes."""
_HOUSEKEEPING_SECONDS = 0.5


class NoMetastore(Exception):
    """It cannot be started here; the text is the reason to skip."""


@dataclass
class HiveMetastore:
    """A metastore.

    Attributes:
        port: of localhost.
        folder: for its files, and the directories of databases that say no location.
        settings: of Hive, on top of those of all tests.
    """

    port: int
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        return f"thrift://localhost:{self.port}"

    def start(self) -> None:
        """Starts it, without any names.

        Raises:
            NoMetastore: there is no Java, or it does not start.
        """
        if importlib.util.find_spec("jpype") is None:
            raise NoMetastore("the package JPype1 is not installed")
        command = [sys.executable, __file__, str(self.port), str(self.folder), json.dumps(dict(self.settings))]
        output = (self.folder / "output").open("wb")
        self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=self.folder)
        for attempt in Retrying(stop=stop_after_delay(90), wait=wait_fixed(0.1), reraise=True):
            with attempt:
                if self.process.poll() is not None:
                    break
                socket.create_connection(("localhost", self.port), 5).close()
        if self.process.poll() is not None:
            raise NoMetastore(f"the metastore does not start: {(self.folder / 'output').read_text()[-500:]}")

    def stop(self) -> None:
        """Kills it."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@contextmanager
def hive_metastore(settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[HiveMetastore]:
    """A metastore that runs.

    Args:
        settings: of Hive, on top of those of all tests.

    Raises:
        NoMetastore: it cannot be started here.
    """
    with tempfile.TemporaryDirectory(prefix="metastore-") as folder, socket.socket() as taken:
        taken.bind(("localhost", 0))
        port = int(taken.getsockname()[1])
        taken.close()
        made = HiveMetastore(port, Path(folder), settings)
        try:
            made.start()
            yield made
        finally:
            made.stop()


def drop_all(options: dict[str, str]) -> None:
    """Drops all databases of a catalog with these options but ``default``, with what is in them."""
    catalog = open_catalog(options)
    for name in catalog.list_databases():
        if name != "default":
            catalog.drop_database(name, cascade=True)


def _serve(port: str, folder: str, more: str) -> None:
    import jpype

    settings = {**_SETTINGS, "hive.log.dir": folder, "hive.metastore.warehouse.dir": f"file:{folder}/warehouse"}
    settings |= json.loads(more)
    write_site(Path(folder) / "hive-site.xml", _SITE)
    write_site(Path(folder) / "core-site.xml", {k: v for k, v in settings.items() if k.startswith(_OF_HADOOP)})
    jpype.startJVM(
        *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Duser.timezone=UTC"),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _PACKAGES),
        f"-Dderby.stream.error.file={folder}/derby.log",
        *(f"-D{key}={value}" for key, value in settings.items()),
        classpath=[folder, str(Path(pyspark.__file__).parent / "jars" / "*")],
    )
    hive = jpype.JPackage("org.apache.hadoop.hive")
    hive.metastore.txn.TxnDbUtil.prepDb(hive.conf.HiveConf())
    threading.Thread(target=_forget_locks, args=(hive,), daemon=True).start()
    hive.metastore.HiveMetaStore.main(["-p", port])


def write_site(path: Path, settings: Mapping[str, str]) -> None:
    """Writes a file of settings as Hadoop reads it."""
    lines = (f"<property><name>{key}</name><value>{value}</value></property>" for key, value in settings.items())
    path.write_text("\n".join(("<configuration>", *lines, "</configuration>")))


def _forget_locks(hive: Any) -> None:
    """What the AcidHouseKeeperService of Hive does every 3 minutes, in a metastore that also starts the compactor."""
    store = hive.metastore.txn.TxnUtils.getTxnStore(hive.conf.HiveConf())
    while True:
        time.sleep(_HOUSEKEEPING_SECONDS)
        store.performTimeOuts()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
