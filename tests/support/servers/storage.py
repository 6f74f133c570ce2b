"""Storage servers as processes on free ports of the loopback, each with an empty bucket."""

from __future__ import annotations

import hmac
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from urllib.request import Request, urlopen

import boto3
import pyspark
from tenacity import Retrying, stop_after_delay, wait_fixed

from paimon_spark.file_io.conditional_put import OPTION, WORDS
from support.long_runs import LONG
from support.programs.gcs_door import COMMAND
from support.servers.builds import ServerUnavailable, go_program, is_built, maven_classpath, maven_jar, npm_script

VERSITYGW = ("github.com/versity/versitygw/cmd/versitygw", "v1.8.0")
MINIO = ("github.com/minio/minio", "v0.0.0-20260212201848-7aac2a2c5b7c")
"""Its last commit: the repository was archived then."""
S3PROXY = "org.gaul:s3proxy:3.1.0"
_OTHER_CLOUDS = ("com.azure", "com.google.cloud", "software.amazon.awssdk", "com.amazonaws", "ch.qos.logback")
"""Groups of S3Proxy that its store of local files does not need, and the log of its server."""

AZURITE = ("azurite", "3.37.0", "dist/src/blob/main.js")
FAKE_GCS = ("github.com/fsouza/fake-gcs-server", "v1.56.1")
HDFS = "org.apache.hadoop:hadoop-client-minicluster:3.5.0"
"""Of the release of the jars of Hadoop that PySpark ships."""
_MINI_CLUSTER = "org.apache.hadoop.test.MiniDFSClusterManager"
_DATA_NODES = "3"
"""As many as a cluster keeps copies. With one, hdfs-native closes each file half a second late: it asks the name node
before the only data node has told it of the block, and asks again after that time."""

BUCKET = "lake"
_ACCESS, _SECRET, _REGION = "access", "secret-of-tests", "us-east-1"
AZURE_ACCOUNT = "devstoreaccount1"
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of the emulator of Azure: everybody's, and in its documentation."""
_OF_EMULATORS = {"private_key": "", "private_key_id": "", "client_email": "", "disable_oauth": True}
"""A service account without keys, as the client of the store takes it for emulators of Google's store."""
_EMPTY_HEADERS = "\n" * 5 + "application/x-www-form-urlencoded" + "\n" * 7
"""The headers of a request that a signature names in their order: of them urllib sends the type."""
_START_SECONDS = 90
_S3PROXY_SETTINGS = """s3proxy.endpoint=http://127.0.0.1:{port}
s3proxy.authorization=aws-v2-or-v4
s3proxy.identity={access}
s3proxy.credential={secret}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={folder}
"""


@dataclass(frozen=True)
class StorageServer:
    """A server that runs.

    Attributes:
        name: of STORAGE_SERVERS.
        root: the location of its empty bucket, ``s3://lake``.
        options: the storage options that reach it.
        domain: under which it serves ``<bucket>.<domain>`` (virtual-hosted style); "": it does not.
    """

    name: str
    root: str
    options: Mapping[str, str]
    domain: str = ""

    @property
    def is_proved(self) -> bool:
        """True if it creates an object only if it is absent, also where several ask at once."""
        return self.name not in UNPROVED

    @property
    def writing(self) -> dict[str, str]:
        """The options with which one job at a time writes."""
        return {**self.options, **({} if self.is_proved else {OPTION: WORDS})}


@contextmanager
def versitygw(kept: Path | None = None, accounts: bool = False) -> Iterator[StorageServer]:
    """The S3 gateway of Versity over a folder: locks and extended attributes of the file system.

    Args:
        kept: the folder, which stays; None: one that goes when the block ends.
        accounts: whether it has others beside that of the options; see new_account.
    """
    program, domain = str(go_program(*VERSITYGW)), "store.test"
    with _folder(kept) as folder, free_port() as port:
        (folder / "data").mkdir(exist_ok=True)
        known: tuple[str, ...] = ()
        if accounts:
            (folder / "accounts").mkdir()
            known = ("--iam-dir", str(folder / "accounts"), "--iam-cache-disable")
        command = [
            *(program, "--port", f"127.0.0.1:{port}", "--access", _ACCESS, "--secret", _SECRET, "--quiet"),
            *("--keep-alive", "--region", _REGION, "--virtual-domain", domain, *known),
            *("posix", str(folder / "data")),
        ]
        with running(command, folder, port):
            yield _s3("versitygw", port, domain)


def new_account(server: StorageServer, access: str, secret: str) -> None:
    """Lets a versitygw with accounts know one more, with all rights."""
    _administer(server, "create-user", "--access", access, "--secret", secret, "--role", "admin")


def remove_account(server: StorageServer, access: str) -> None:
    """Lets a versitygw with accounts forget one."""
    _administer(server, "delete-user", "--access", access)


def _administer(server: StorageServer, *words: str) -> None:
    keys = ("--access", server.options["s3.access-key"], "--secret", server.options["s3.secret-key"])
    place = ("--endpoint-url", server.options["s3.endpoint"], "--region", server.options["s3.region"])
    subprocess.run([str(go_program(*VERSITYGW)), "admin", *keys, *place, *words], check=True, capture_output=True)


@contextmanager
def minio(kept: Path | None = None) -> Iterator[StorageServer]:
    """MinIO over one folder: locks of its own, and metadata in files of its own beside the data.

    Args:
        kept: the folder, which stays; None: one that goes when the block ends.
    """
    program, domain = str(go_program(*MINIO)), "store.test"
    settings = {"ROOT_USER": _ACCESS, "ROOT_PASSWORD": _SECRET, "DOMAIN": domain, "BROWSER": "off"}
    with _folder(kept) as folder, free_port() as port:
        environment = [f"MINIO_{name}={value}" for name, value in settings.items()]
        command = [program, "server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder / "data")]
        with running(["env", *environment, *command], folder, port):
            yield _s3("minio", port, domain)


@contextmanager
def s3proxy() -> Iterator[StorageServer]:
    """S3Proxy, a server in Java, over a folder."""
    jars = maven_classpath(S3PROXY, without=_OTHER_CLOUDS)
    with _folder() as folder, free_port() as port:
        (folder / "data").mkdir()
        settings = folder / "s3proxy.conf"
        settings.write_text(_S3PROXY_SETTINGS.format(port=port, access=_ACCESS, secret=_SECRET, folder=folder / "data"))
        command = ["java", "-cp", jars, "org.gaul.s3proxy.Main", "--properties", str(settings)]
        with running(command, folder, port):
            yield _s3("s3proxy", port)


@contextmanager
def azurite(certificate: tuple[Path, Path] | None = None) -> Iterator[StorageServer]:
    """Azurite, Microsoft's own emulator of Azure Blob Storage, with its well-known account.

    Args:
        certificate: and its key, of a server of TLS, which takes the tokens of Entra ID too; None: without both.
    """
    script = npm_script(*AZURITE)
    with _folder() as folder, free_port() as port:
        options = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder), "--silent"]
        if certificate is not None:
            options += ["--cert", str(certificate[0]), "--key", str(certificate[1]), "--oauth", "basic"]
        with running(["node", str(script), *options, "--skipApiVersionCheck", "--disableTelemetry"], folder, port):
            address = f"{'http' if certificate is None else 'https'}://127.0.0.1:{port}"
            settings = {
                "fs.azure.endpoint": f"{address}/{AZURE_ACCOUNT}",
                f"fs.azure.account.key.{AZURE_ACCOUNT}.dfs.core.windows.net": AZURE_KEY,
            }
            _create_container(address, BUCKET, certificate)
            yield StorageServer("azurite", f"abfss://{BUCKET}@{AZURE_ACCOUNT}.dfs.core.windows.net", settings)


@contextmanager
def fake_gcs(credentials: Path | None = None) -> Iterator[StorageServer]:
    """fake-gcs-server, which keeps objects in memory, behind a door that has uploads by XML (see gcs_door).

    Args:
        credentials: a file that gets the header of each request that has them; None: nobody wants to know.
    """
    program = str(go_program(*FAKE_GCS))
    with _folder() as folder, free_port() as upstream, free_port() as port:
        address = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(upstream))
        command = [program, "-backend", "memory", *address, "-public-host", f"127.0.0.1:{port}", "-log-level", "error"]
        door = [sys.executable, "-c", COMMAND, str(port), str(upstream), str(credentials or os.devnull)]
        (folder / "door").mkdir()
        with running(command, folder, upstream), running(door, folder / "door", port):
            body = json.dumps({"name": BUCKET}).encode()
            to = Request(f"http://127.0.0.1:{upstream}/storage/v1/b?project=p", body, method="POST")
            with urlopen(to):
                pass
            (folder / "account.json").write_text(json.dumps(_OF_EMULATORS))
            settings = {
                "fs.gs.storage.root.url": f"http://127.0.0.1:{port}",
                "fs.gs.auth.service.account.json.keyfile": str(folder / "account.json"),
            }
            yield StorageServer("fake-gcs", f"gs://{BUCKET}", settings)


@contextmanager
def hdfs() -> Iterator[StorageServer]:
    """The mini cluster of Hadoop: a name node and a data node in one process."""
    mini = maven_jar(HDFS)
    with _folder() as folder, free_port() as port:
        jars = f"{mini}:{Path(pyspark.__file__).parent / 'jars' / '*'}"
        (folder / "log4j2.properties").write_text("rootLogger.level = error\n")
        options = ("-format", "-datanodes", _DATA_NODES, "-nnport", str(port), "-writeDetails", str(folder / "ready"))
        settings = ("-D", f"hdfs.minidfs.basedir={folder / 'data'}")
        command = ["java", "-Xmx512m", "-cp", f"{folder}:{jars}", _MINI_CLUSTER, *options, *settings]
        with running(command, folder, port, folder / "ready"):
            root = f"hdfs://127.0.0.1:{port}"
            yield StorageServer("hdfs", f"{root}/lake", {})


UNPROVED = frozenset({"s3proxy"})
"""Servers that look first whether an object is absent, and write then, so that of several writers each may win."""
STORAGE_SERVERS: Mapping[str, Callable[[], AbstractContextManager[StorageServer]]] = {
    "versitygw": versitygw,
    **({"minio": minio} if LONG or is_built(*MINIO) else {}),  # its build takes as long as all tests of CI
    "s3proxy": s3proxy,
    "azurite": azurite,
    "fake-gcs": fake_gcs,
    "hdfs": hdfs,
}


class RunningServers:
    """The servers that the tests of a process have asked for; each is started once."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._running: dict[str, StorageServer] = {}

    def get(self, name: str) -> StorageServer:
        """The server of a name of STORAGE_SERVERS, which runs.

        Raises:
            ServerUnavailable: it cannot be had or started here.
        """
        if name not in self._running:
            self._running[name] = self._stack.enter_context(STORAGE_SERVERS[name]())
        return self._running[name]

    def stop(self) -> None:
        self._stack.close()


@contextmanager
def running(command: list[str], folder: Path, port: int, ready: Path | None = None) -> Iterator[None]:
    """Runs a server while the block lasts, which begins when it accepts connections.

    Args:
        ready: a file that it writes when it has begun; None: none.

    Raises:
        ServerUnavailable: it ends, or does not listen.
    """
    output = folder / "output"
    with output.open("wb") as file:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, cwd=folder
            )
        except OSError as error:
            raise ServerUnavailable(f"{command[0]} does not start: {error}") from error
    try:
        _wait(process, port, output, ready)
        yield
    finally:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, output: Path, ready: Path | None) -> None:
    for attempt in Retrying(stop=stop_after_delay(_START_SECONDS), wait=wait_fixed(0.05), reraise=True):
        with attempt:
            if process.poll() is not None:
                break
            socket.create_connection(("127.0.0.1", port), 5).close()
            if ready is not None:
                ready.stat()
    if process.poll() is not None:
        raise ServerUnavailable(f"{process.args!r} ended: {output.read_text(errors='replace')[-500:]}")


def s3_client(options: Mapping[str, str]) -> boto3.client:
    """A client of another make, which tells what is stored."""
    return boto3.client(
        "s3",
        endpoint_url=options["s3.endpoint"],
        aws_access_key_id=options["s3.access-key"],
        aws_secret_access_key=options["s3.secret-key"],
        region_name=options["s3.region"],
    )


def _s3(name: str, port: int, domain: str = "") -> StorageServer:
    options = {
        "s3.endpoint": f"http://127.0.0.1:{port}",
        "s3.access-key": _ACCESS,
        "s3.secret-key": _SECRET,
        "s3.region": _REGION,
    }
    client = s3_client(options)
    with suppress(client.exceptions.BucketAlreadyOwnedByYou):  # of a folder that stayed
        client.create_bucket(Bucket=BUCKET)
    return StorageServer(name, f"s3://{BUCKET}", options, domain=f"{domain}:{port}" if domain else "")


def _create_container(address: str, name: str, certificate: tuple[Path, Path] | None) -> None:
    """A request of Azure Blob Storage, signed with the key of the account."""
    resource = f"/{AZURE_ACCOUNT}/{name}"
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = f"PUT{_EMPTY_HEADERS}{signed}/{AZURE_ACCOUNT}{resource}\nrestype:container"
    digest = hmac.new(b64decode(AZURE_KEY), text.encode(), "sha256").digest()
    headers["Authorization"] = f"SharedKey {AZURE_ACCOUNT}:{b64encode(digest).decode()}"
    trusted = None if certificate is None else ssl.create_default_context(cafile=str(certificate[0]))
    with urlopen(Request(f"{address}{resource}?restype=container", b"", headers, method="PUT"), context=trusted):
        pass


@contextmanager
def _folder(kept: Path | None = None) -> Iterator[Path]:
    """A folder that stays, which is made; None: one that goes when the block ends."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="storage-server-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def free_port() -> Iterator[int]:
    """A port that nobody has; another process could take it before the server does, which then fails to start."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    yield port
