"""What real storage servers do beyond the contract of each store: races, long lists, names, addresses, credentials."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from hdfs_native import FileWriter
from support.long_runs import tries
from support.servers.storage import STORAGE_SERVERS, RunningServers, StorageServer, s3_client

from paimon_spark import open_table
from paimon_spark.errors import AccessDenied, StorageError, UnsupportedFeature
from paimon_spark.file_io import file_io_for
from paimon_spark.file_io.hadoop import HadoopFileIO
from paimon_spark.file_io.native_hdfs import _NativeWriter, hadoop_config
from paimon_spark.file_io.object_store import UPLOAD_PART_BYTES

RACES = tries("PAIMON_RACES", 20, 1000)
LISTED = tries("PAIMON_LISTED", 1100, 11_000)
RACERS = 8
S3_AND_AZURE = [
    pytest.param(name, marks=pytest.mark.server) for name in STORAGE_SERVERS if name not in ("fake-gcs", "hdfs")
]
HOSTED = [pytest.param(name, marks=pytest.mark.server) for name in STORAGE_SERVERS if name in ("versitygw", "minio")]
NAMES = [
    "a+b",
    "a&b=c;d",
    "100%",
    "%2F",
    "日本",
    "~a",
    "it's",
    "a$@!*(b)",
    "{x}",
    "[1]",
    "^`|",
    "a,b=c",
    "a?b#c",
    "ä ö",
]


@pytest.fixture
def root(server: StorageServer) -> str:
    return f"{server.root}/{uuid4().hex}"


def test_one_of_eight_wins_each_race_or_nobody_may_write(server: StorageServer, root: str) -> None:
    """S3Proxy looks first and writes then: one request after the other is answered rightly, most races are not."""
    io, start = file_io_for(root, server.options), threading.Barrier(RACERS)
    if not server.is_proved:
        for _ in range(2):
            with pytest.raises(UnsupportedFeature, match=r"two writers could overwrite .* fs\.unsafe-commits=only-one"):
                io.create_if_absent(f"{root}/snapshot-1", b"1")
        assert io.list(root) == [], "neither the file nor a probe"
        return

    def create(name: str, number: int) -> bool:
        start.wait()
        return io.create_if_absent(f"{root}/{name}", b"%d" % number)

    with ThreadPoolExecutor(RACERS) as threads:
        for race in range(RACES):
            won = list(threads.map(partial(create, f"s-{race}"), range(RACERS)))
            assert won.count(True) == 1
            assert io.read_bytes(f"{root}/s-{race}") == b"%d" % won.index(True)


def test_a_list_of_more_than_a_page(server: StorageServer, root: str) -> None:
    io = file_io_for(root, server.options)
    make = (
        io.make_directory if server.name == "hdfs" else partial(io.write_bytes, data=b"x")
    )  # closing a file takes long
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: make(f"{root}/many/{number:05}"), range(LISTED)))
    assert sorted(status.name for status in io.list(f"{root}/many")) == [f"{number:05}" for number in range(LISTED)]
    io.delete_directory(f"{root}/many")
    assert io.list(f"{root}/many") == []
    assert not io.exists(f"{root}/many")


def test_names_that_are_encoded(server: StorageServer, root: str) -> None:
    io = file_io_for(root, server.options)
    for name in NAMES:
        io.write_bytes(f"{root}/{name}/{name}", name.encode())
        assert [(found.name, found.size) for found in io.list(f"{root}/{name}")] == [(name, len(name.encode()))]
        assert io.read_bytes(f"{root}/{name}/{name}") == name.encode()
    assert sorted(found.name for found in io.list(root)) == sorted(NAMES)
    io.delete_many([f"{root}/{name}/{name}" for name in NAMES])
    assert [name for name in NAMES if io.exists(f"{root}/{name}/{name}")] == []


@pytest.mark.parametrize("size", [UPLOAD_PART_BYTES - 1, UPLOAD_PART_BYTES, 2 * UPLOAD_PART_BYTES, 0])
def test_uploads_whose_parts_are_full(server: StorageServer, root: str, size: int) -> None:
    io = file_io_for(root, server.options)
    data = bytes(range(256)) * (size // 256 + 1)
    with io.open_output(f"{root}/x") as stream:
        stream.write(data[:size])
    assert io.read_bytes(f"{root}/x") == data[:size]
    assert [found.size for found in io.list(root)] == [size]


@pytest.mark.parametrize("server", S3_AND_AZURE, indirect=True)
def test_credentials_that_the_store_refuses(server: StorageServer, root: str) -> None:
    """versitygw answers an unknown key with the status of a missing object; only its words tell them apart."""
    wrong = {key: "AAAA" if "secret" in key or "account.key" in key else value for key, value in server.options.items()}
    told = "do not permit it" if server.name == "azurite" else "the secret does not belong to the key"
    with pytest.raises(AccessDenied, match=f"{told} .*: (check|ask for)"):
        open_table(root, wrong)
    if server.name != "azurite":  # there the name of the account is in the path
        unknown = {**server.options, "s3.access-key": "nobody"}
        for call in (partial(open_table, root, unknown), partial(file_io_for(root, unknown).read_bytes, f"{root}/x")):
            with pytest.raises(
                AccessDenied, match=r"does not know the access key .*: check the options s3\.access-key"
            ):
                call()


@pytest.mark.parametrize("server", S3_AND_AZURE, indirect=True)
def test_a_bucket_that_the_store_does_not_have(server: StorageServer) -> None:
    missing = server.root.replace("lake", "no-such-lake", 1)
    with pytest.raises(StorageError, match=r"has no bucket 'no-such-lake'.*: check the name in the path"):
        open_table(f"{missing}/t", server.options)


@pytest.mark.parametrize("server", HOSTED, indirect=True)
def test_virtual_hosted_style(server: StorageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bucket is a part of the host, of which this machine knows no address: the server is its own proxy."""
    root = f"{server.root}/{uuid4().hex}"
    monkeypatch.setenv("http_proxy", server.options["s3.endpoint"])
    hosted = {**server.options, "s3.endpoint": f"http://{server.domain}", "s3.path-style-access": "false"}
    io = file_io_for(root, hosted)
    assert io.create_if_absent(f"{root}/a b/x=1", b"1")
    assert not io.create_if_absent(f"{root}/a b/x=1", b"2")
    assert [found.name for found in io.list(f"{root}/a b")] == ["x=1"]
    key = f"{root.rpartition('/')[2]}/a b/x=1"
    assert s3_client(server.options).get_object(Bucket="lake", Key=key)["Body"].read() == b"1"


@pytest.mark.server
def test_what_hdfs_refuses(storage_servers: RunningServers, monkeypatch: pytest.MonkeyPatch) -> None:
    server = storage_servers.get("hdfs")
    io, root = file_io_for(server.root, {}), f"{server.root}/{uuid4().hex}"
    with pytest.raises(StorageError, match=rf"writing {root}/a:b: Invalid path name"):
        io.write_bytes(f"{root}/a:b", b"1")
    io.write_bytes(f"{root}/file", b"1")
    with pytest.raises(StorageError, match=rf"writing {root}/file/x: .*directory"):
        io.write_bytes(f"{root}/file/x", b"1")
    monkeypatch.setenv("HADOOP_USER_NAME", "stranger")
    closed = file_io_for(server.root, {"hadoop.dfs.client.use.datanode.hostname": "false"})  # another connection
    with pytest.raises(StorageError, match=rf"writing {root}/y: Permission denied.*; give the user of this process"):
        closed.write_bytes(f"{root}/y", b"1")


def test_a_name_node_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    io = file_io_for("hdfs://127.0.0.1:1/t", {"hadoop.dfs.client.failover.max.attempts": "1"})
    with pytest.raises(StorageError, match=r"listing hdfs://127\.0\.0\.1:1/t: Connection refused"):
        io.list("hdfs://127.0.0.1:1/t")
    with pytest.raises(StorageError, match=r"there is no connection to hdfs://service .*No NameNode hosts found"):
        file_io_for("hdfs://service/t", {}).list("hdfs://service/t")
    assert hadoop_config({"hadoop.fs.defaultfs": "hdfs://h:1", "s3.endpoint": "x"}) == (("fs.defaultFS", "hdfs://h:1"),)
    default = file_io_for("hdfs:///t", {"hadoop.fs.defaultfs": "hdfs://127.0.0.1:1", "hadoop.x": "1"})
    assert isinstance(default, HadoopFileIO)


@pytest.mark.server
def test_an_upload_that_is_given_up_stays_invisible_and_leaves_its_parts(storage_servers: RunningServers) -> None:
    """The client has no way to end it; the guide tells users to let a rule of the bucket remove it."""
    server = storage_servers.get("versitygw")
    root = f"{server.root}/{uuid4().hex}"
    io = file_io_for(root, server.options)
    stream = io.open_output(f"{root}/x")
    for _ in range(3):
        stream.write(bytes(UPLOAD_PART_BYTES))
    stream.discard()
    assert not io.exists(f"{root}/x")
    assert io.list(root) == []
    started = s3_client(server.options).list_multipart_uploads(Bucket="lake").get("Uploads", [])
    assert f"{root.rpartition('/')[2]}/x" in [upload["Key"] for upload in started]


class _RecordedFile:
    """What the Rust half of hdfs-native's writer is asked for."""

    def __init__(self, refuses: bool) -> None:
        self.closes, self._refuses = 0, refuses

    def write(self, data: bytes) -> int:
        return len(data)

    def close(self) -> None:
        self.closes += 1
        if self._refuses:
            raise RuntimeError("the name node does not answer")


@pytest.mark.parametrize(("is_closed", "refuses", "closes"), [(False, False, 0), (True, False, 1), (True, True, 1)])
def test_a_file_of_hdfs_is_ended_by_its_close_alone(is_closed: bool, refuses: bool, closes: int) -> None:
    """Its finalizer would wait for the name node in whatever thread collects garbage."""
    asked = _RecordedFile(refuses)
    writer = _NativeWriter("/x", FileWriter(asked))
    assert writer.write(b"abc") == 3
    if is_closed:
        with pytest.raises(OSError, match="does not answer") if refuses else nullcontext():
            writer.close()
    del writer
    gc.collect()
    assert asked.closes == closes
