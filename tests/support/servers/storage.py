"""Storage servers as processes on free ports of the loopback, each with an empty bucket."""

from __future__ import annotations

import hmac
import socket
import subprocess
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from email.utils import formatdate
from pathlib import Path
from urllib.request import Request, urlopen

import boto3
import pyspark
from tenacity import Retrying, stop_after_delay, wait_fixed

from paimon_spark.file_io.conditional_put import OPTION, WORDS
from support.servers.builds import ServerUnavailable, go_program, maven_classpath, maven_jar, npm_script

VERSITYGW = ("github.com/versity/versitygw/cmd/versitygw", "v1.8.0")
S3PROXY = "org.gaul:s3proxy:3.1.0"
_OTHER_CLOUDS = ("com.azure", "com.google.cloud", "software.amazon.awssdk", "com.amazonaws", "ch.qos.logback")
"""Groups of S3Proxy that its store of local files does not need, and the log of its server."""

AZURITE = ("azurite", "3.37.0", "dist/src/blob/main.js")
HDFS = "org.apache.hadoop:hadoop-client-minicluster:3.5.0"
"""Of the release of the jars of Hadoop that PySpark ships."""
_MINI_CLUSTER = "org.apache.hadoop.test.MiniDFSClusterManager"

BUCKET = "lake"
_ACCESS, _SECRET, _REGION = "access", "secret-of-tests", "us-east-1"
_AZURE_ACCOUNT = "devstoreaccount1"
_AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Of the emulator of Azure: everybody's, and in its documentation."""
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
        is_proved: whether it creates an object only if it is absent, also where several ask at once.
        domain: under which it serves ``<bucket>.<domain>`` (virtual-hosted style); "": it does not.
    """

    name: str
    root: str
    options: Mapping[str, str]
    is_proved: bool = True
    domain: str = ""

    @property
    def writing(self) -> dict[str, str]:
        """The options with which one job at a time writes."""
        return {**self.options, **({} if self.is_proved else {OPTION: WORDS})}


@contextmanager
def versitygw(kept: Path | None = None) -> Iterator[StorageServer]:
    """The S3 gateway of Versity over a folder: locks and extended attributes of the file system.

    Args:
        kept: the folder, which stays; None: one that goes when the block ends.
    """
    program, domain = str(go_program(*VERSITYGW)), "store.test"
    with _folder() if kept is None else nullcontext(kept) as folder, free_port() as port:
        (folder / "data").mkdir(parents=True)
        command = [
            *(program, "--port", f"127.0.0.1:{port}", "--access", _ACCESS, "--secret", _SECRET, "--quiet"),
            *("--keep-alive", "--region", _REGION, "--virtual-domain", domain),
            *("posix", str(folder / "data")),
        ]
        with running(command, folder, port):
            yield _s3("versitygw", port, domain)


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
            yield replace(_s3("s3proxy", port), is_proved=False)  # it looks first, and writes then


@contextmanager
def azurite() -> Iterator[StorageServer]:
    """Azurite, Microsoft's own emulator of Azure Blob Storage, with its well-known account."""
    script = npm_script(*AZURITE)
    with _folder() as folder, free_port() as port:
        options = ("--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder), "--silent")
        with running(["node", str(script), *options, "--skipApiVersionCheck", "--disableTelemetry"], folder, port):
            settings = {
                "fs.azure.endpoint": f"http://127.0.0.1:{port}/{_AZURE_ACCOUNT}",
                f"fs.azure.account.key.{_AZURE_ACCOUNT}.dfs.core.windows.net": _AZURE_KEY,
            }
            _create_container(f"http://127.0.0.1:{port}", BUCKET)
            yield StorageServer("azurite", f"abfss://{BUCKET}@{_AZURE_ACCOUNT}.dfs.core.windows.net", settings)


@contextmanager
def hdfs() -> Iterator[StorageServer]:
    """The mini cluster of Hadoop: a name node and a data node in one process."""
    mini = maven_jar(HDFS)
    with _folder() as folder, free_port() as port:
        jars = f"{mini}:{Path(pyspark.__file__).parent / 'jars' / '*'}"
        (folder / "log4j2.properties").write_text("rootLogger.level = error\n")
        options = ("-format", "-datanodes", "1", "-nnport", str(port), "-writeDetails", str(folder / "ready"))
        settings = ("-D", f"hdfs.minidfs.basedir={folder / 'data'}")
        command = ["java", "-Xmx512m", "-cp", f"{folder}:{jars}", _MINI_CLUSTER, *options, *settings]
        with running(command, folder, port, folder / "ready"):
            root = f"hdfs://127.0.0.1:{port}"
            yield StorageServer("hdfs", f"{root}/lake", {})


STORAGE_SERVERS: Mapping[str, Callable[[], AbstractContextManager[StorageServer]]] = {
    "versitygw": versitygw,
    "s3proxy": s3proxy,
    "azurite": azurite,
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
    s3_client(options).create_bucket(Bucket=BUCKET)
    return StorageServer(name, f"s3://{BUCKET}", options, domain=f"{domain}:{port}" if domain else "")


def _create_container(address: str, name: str) -> None:
    """A request of Azure Blob Storage, signed with the key of the account."""
    resource = f"/{_AZURE_ACCOUNT}/{name}"
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = f"PUT{_EMPTY_HEADERS}{signed}/{_AZURE_ACCOUNT}{resource}\nrestype:container"
    digest = hmac.new(b64decode(_AZURE_KEY), text.encode(), "sha256").digest()
    headers["Authorization"] = f"SharedKey {_AZURE_ACCOUNT}:{b64encode(digest).decode()}"
    with urlopen(Request(f"{address}{resource}?restype=container", b"", headers, method="PUT")):
        pass


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="storage-server-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def free_port() -> Iterator[int]:
    """A port that nobody has; another process could take it before the server does, which then fails to start."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = int(taken.getsockname()[1])
    yield port
