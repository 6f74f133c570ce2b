"""The contract of FileIO on every store there is here: local disk, memory, S3, and Hadoop's rules over a local disk."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.faults.hadoop_rules import RefusingRename, hadoop_rules
from support.programs.s3_server import s3_that_says

from paimon_spark import open_table
from paimon_spark.catalogs.factory import open_catalog
from paimon_spark.errors import OptionError, StorageError, UnsupportedFeature
from paimon_spark.file_io import (
    DirectoryIO,
    LocalFileIO,
    NotCreated,
    file_io_for,
    find_status,
    is_same_store,
    list_names,
    named_location,
)
from paimon_spark.file_io.hadoop import HadoopClient, HadoopFileIO, split_hadoop
from paimon_spark.file_io.object_settings import azure_config, gcs_config, s3_config
from paimon_spark.file_io.object_store import ObstoreFileIO
from paimon_spark.store.metadata.snapshots import SnapshotStore

Store = tuple[DirectoryIO, str]


class LosesAnswers(RefusingRename):
    """Renames, then says it did not."""

    def rename(self, source: str, target: str) -> bool:
        super().rename(source, target)
        return False


NAMES = ["snapshot-1", "a b", "dt=a%3Ab", "é#[1]", "k=%2F"]


@pytest.mark.parametrize("name", NAMES)
def test_first_creator_wins_and_its_bytes_stay(store: Store, name: str) -> None:
    io, root = store
    path = f"{root}/snapshot/{name}"
    assert io.create_if_absent(path, b"first")
    assert not io.create_if_absent(path, b"second")
    assert io.read_bytes(path) == b"first"
    assert [status.name for status in io.list(f"{root}/snapshot") if not status.name.startswith(".")] == [name]
    assert len(io.list(f"{root}/snapshot")) == 1, "no temporary file stays"


def test_one_of_many_threads_creates(store: Store) -> None:
    io, root = store
    if getattr(io, "unproved", False):
        return  # the user has said that one job writes
    won: list[tuple[int, int]] = []

    def race(writer: int) -> None:
        won.extend((n, writer) for n in range(10) if io.create_if_absent(f"{root}/s-{n}", b"%d" % writer))

    threads = [threading.Thread(target=race, args=(writer,)) for writer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(n for n, _ in won) == list(range(10))
    assert all(io.read_bytes(f"{root}/s-{n}") == b"%d" % writer for n, writer in won)


def test_missing_things(store: Store) -> None:
    io, root = store
    with pytest.raises(FileNotFoundError):
        io.read_bytes(f"{root}/none")
    with pytest.raises(FileNotFoundError):
        io.open_input(f"{root}/none")
    assert io.list(f"{root}/none") == []
    assert not io.exists(f"{root}/none")
    io.delete(f"{root}/none")


def test_write_list_overwrite_delete(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/a/b/x", b"123")
    io.overwrite(f"{root}/a/LATEST", b"1")
    io.overwrite(f"{root}/a/LATEST", b"22")
    found = {status.name: status for status in io.list(f"{root}/a")}
    assert {name: (s.path, s.size, s.is_directory) for name, s in found.items()} == {
        "b": (f"{root}/a/b", 0, True),
        "LATEST": (f"{root}/a/LATEST", 2, False),
    }
    assert found["LATEST"].modified_millis > 1_700_000_000_000
    assert io.read_bytes(found["LATEST"].path) == b"22"
    assert io.exists(f"{root}/a/b/x")
    assert io.exists(f"{root}/a/b")
    io.delete(f"{root}/a/b/x")
    assert not io.exists(f"{root}/a/b/x")


def test_names_alone(tmp_path: Path) -> None:
    """A local store lists names without a look at each file; links count as what they lead to."""
    io, root = LocalFileIO(), str(tmp_path)
    for name in ("a/b/x", "a/y", "a/z"):
        io.write_bytes(f"{root}/{name}", b"123")
    for link, target in (("to-b", "b"), ("to-y", "y"), ("to-nothing", "nothing")):
        (tmp_path / "a" / link).symlink_to(target)
    named = list_names(io, f"{root}/a")
    assert named is not None
    listed = io.list(f"{root}/a")
    assert sorted(named.directories) == sorted(status for status in listed if status.is_directory)
    found = {find_status(io, f"{root}/a/{name}") for name in named.files}
    assert found == {None, *(status for status in listed if not status.is_directory)}
    assert sorted(named.files) == ["to-nothing", "to-y", "y", "z"]
    assert list_names(io, f"{root}/absent") == ([], [])
    with pytest.raises(StorageError, match=f"listing {root}/a/y"):
        list_names(io, f"{root}/a/y")


def test_delete_many(store: Store) -> None:
    """More files than one bulk request takes; most are not there; names that stores may encode."""
    io, root = store
    names = ["a%3Ab c/ü=1/x", "a%3Ab c/ü=1/y", "a/first", "a/last", "a/stays"]
    for name in names:
        io.write_bytes(f"{root}/{name}", b"1")
    (stays,) = (s.path for s in io.list(f"{root}/a") if s.name == "stays")
    listed = [s.path for directory in ("a%3Ab c/ü=1", "a") for s in io.list(f"{root}/{directory}") if s.path != stays]
    assert sorted(listed) == sorted(f"{root}/{name}" for name in names[:-1])
    absent = [f"{root}/a/absent-{number}" for number in range(1100)]
    io.delete_many([*listed[:2], *absent, *listed[2:]])
    assert [io.exists(f"{root}/{name}") for name in names] == [False, False, False, False, True]
    io.delete_many(listed)
    io.delete_many([])


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (
            "200 OK",
            "<DeleteResult><Error><Key>t/x</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>",
        ),
        ("403 Forbidden", "<Error><Code>AccessDenied</Code><Message>no</Message></Error>"),
    ],
)
def test_a_refused_bulk_delete_is_an_error(status: str, answer: str) -> None:
    with s3_that_says(status, answer) as options, pytest.raises(OSError, match="s3://strict/t/x"):
        file_io_for("s3://strict/t", options).delete_many(["s3://strict/t/x", "s3://strict/t/y"])


def test_a_bucket_that_is_not_there(s3_options: dict[str, str]) -> None:
    io, root = file_io_for("s3://no-such-bucket/t", s3_options), "s3://no-such-bucket/t"
    for call in (
        lambda: io.list(root),
        lambda: io.exists(root),
        lambda: io.write_bytes(f"{root}/x", b"1"),
        lambda: io.create_if_absent(f"{root}/x", b"1"),
        lambda: open_table(root, s3_options),
    ):
        with pytest.raises(StorageError, match=r"(listing|writing|opening) s3://no-such-bucket/t.*NoSuchBucket"):
            call()


@pytest.mark.parametrize("store", ["local", "file-uri", "hadoop"], indirect=True)
def test_a_file_where_a_directory_has_to_be(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/file", b"1")
    inside = f"{root}/file/x"
    for call in (
        lambda: io.write_bytes(inside, b"1"),
        lambda: io.open_output(inside),
        lambda: io.overwrite(inside, b"1"),
        lambda: io.create_if_absent(inside, b"1"),
    ):
        with pytest.raises(StorageError, match=f"writing .*{inside.removeprefix('file://')}"):
            call()
    assert [status.name for status in io.list(root)] == ["file"]


def test_random_access(store: Store) -> None:
    io, root = store
    data = bytes(range(256)) * 100
    io.write_bytes(f"{root}/x", data)
    io.write_bytes(f"{root}/empty", b"")
    for size in (None, len(data)):
        with io.open_input(f"{root}/x", size) as stream:
            assert stream.seek(1000) == 1000
            assert stream.read(10) == data[1000:1010]
            assert stream.tell() == 1010
            assert stream.seek(-3, 2) == len(data) - 3
            assert stream.read(10) == data[-3:]
            assert stream.read(10) == b""
    with io.open_input(f"{root}/empty") as stream:
        assert stream.read() == b""


def test_pyarrow_writes_and_reads_a_data_file(store: Store) -> None:
    io, root = store
    table = pa.table({"id": range(100_000), "text": [f"row {n}" for n in range(100_000)]})
    with io.open_output(f"{root}/p=1/bucket-0/data.parquet") as stream:
        pq.write_table(table, stream, compression="none")
    with io.open_input(f"{root}/p=1/bucket-0/data.parquet") as source:
        assert pq.ParquetFile(source).read() == table


def test_upload_of_many_parts(store: Store) -> None:
    io, root = store
    part = os.urandom(1 << 20)
    with io.open_output(f"{root}/big") as stream:
        for number in range(20):
            assert stream.tell() == number * len(part)
            assert stream.write(part) == len(part)
    assert io.read_bytes(f"{root}/big") == part * 20


def test_nothing_stays_of_a_discarded_file(store: Store) -> None:
    io, root = store
    stream = io.open_output(f"{root}/x")
    with contextlib.suppress(ZeroDivisionError), stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert stream.closed
    stream.discard()
    assert not io.exists(f"{root}/x")


def test_a_store_travels_to_another_process(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/x", b"1")
    assert pickle.loads(pickle.dumps(io)).read_bytes(f"{root}/x") == b"1"


def test_refuses_a_local_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(UnsupportedFeature, match="hard links"):
        LocalFileIO().create_if_absent(f"{tmp_path}/snapshot-1", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_is_removed_before_it_has_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    removals, mkdir = iter([True, True]), os.mkdir

    def made_and_removed(path: str) -> None:
        mkdir(path)
        if next(removals, False):
            os.rmdir(path)

    monkeypatch.setattr(os, "mkdir", made_and_removed)
    LocalFileIO().write_bytes(f"{tmp_path}/bucket-0/x", b"1")
    assert (tmp_path / "bucket-0/x").read_bytes() == b"1"


def test_a_full_disk_is_a_certain_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NotCreated, match="No space left"):
        LocalFileIO().create_if_absent(f"{tmp_path}/snapshot-1", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_new_hint_waits_for_no_disk_and_one_that_is_set_back_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Format section 1, "Hints": one that is too low after a crash harms nobody, one that is too high does."""
    store, synced, fsync = SnapshotStore(LocalFileIO(), str(tmp_path)), list[int](), os.fsync
    (tmp_path / "snapshot").mkdir()

    def noted(descriptor: int) -> None:
        synced.append(descriptor)
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    store.advance_latest_hint(7)
    assert (tmp_path / "snapshot/LATEST").read_bytes() == b"7"
    assert synced == []
    store.write_latest_hint(5)
    assert (tmp_path / "snapshot/LATEST").read_bytes() == b"5"
    assert len(synced) == 2, "the file, and the directory"
    assert [path.name for path in (tmp_path / "snapshot").iterdir()] == ["LATEST"]


@contextlib.contextmanager
def as_another_user() -> Iterator[None]:
    """What root may do everybody may; another user is refused."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that every user may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as made:
        os.chmod(made, 0o711)
        with as_another_user():
            entered = os.access(made, os.X_OK, effective_ids=True)
        if not entered:
            pytest.skip(f"another user may not enter {made}")
        yield Path(made)


def test_a_lack_of_rights_is_told_with_the_right_to_give(open_directory: Path) -> None:
    closed, read_only = open_directory / "closed", open_directory / "read_only"
    for directory in (closed, read_only):
        directory.mkdir()
        (directory / "f").write_bytes(b"x")
    (read_only / "f").chmod(0)
    closed.chmod(0)
    read_only.chmod(0o555)
    io, new = LocalFileIO(), f"{read_only}/new"
    in_directory = "write in the directory that holds it and to enter those above"
    cases: list[tuple[Callable[[], object], str, str]] = [
        (
            lambda: io.read_bytes(f"{read_only}/f"),
            f"reading {read_only}/f",
            "read it and to enter the directories above it",
        ),
        (
            lambda: io.open_input(f"{read_only}/f").read(),
            f"reading {read_only}/f",
            "read it and to enter the directories",
        ),
        (lambda: io.list(str(closed)), f"listing {closed}", "read and enter this directory"),
        (lambda: io.exists(f"{closed}/f"), f"looking for {closed}/f", "enter the directories above it"),
        (lambda: io.write_bytes(new, b"x"), f"writing {new}", in_directory),
        (lambda: io.create_if_absent(new, b"x"), f"writing {new}", in_directory),
        (lambda: io.overwrite(new, b"x"), f"writing {new}", in_directory),
        (lambda: io.make_directory(new), f"making the directory {new}", in_directory),
        (lambda: io.delete(f"{read_only}/f"), f"deleting {read_only}/f", in_directory),
    ]
    try:
        for call, what, right in cases:
            with as_another_user(), pytest.raises(StorageError) as caught:
                call()
            told = f"{what}: Permission denied; give the user of this process the right to {right}"
            assert str(caught.value).startswith(told), what
            assert caught.value.errno == errno.EACCES
    finally:
        closed.chmod(0o755)
        read_only.chmod(0o755)


def test_hadoop_says_when_the_answer_is_lost(tmp_path: Path) -> None:
    io = HadoopFileIO(partial(hadoop_rules, str(tmp_path), rules=LosesAnswers))
    with pytest.raises(OSError, match="did not say") as caught:
        io.create_if_absent("hdfs://name:8020/t/snapshot-1", b"x")
    assert not isinstance(caught.value, NotCreated)
    assert io.read_bytes("hdfs://name:8020/t/snapshot-1") == b"x"


def test_hadoop_refusing_for_another_reason_is_a_certain_failure(tmp_path: Path) -> None:
    io = HadoopFileIO(partial(hadoop_rules, str(tmp_path)))
    os.mkdir(tmp_path / "t")
    refusing = RefusingRename(str(tmp_path))
    refusing.rename = lambda source, target: False  # type: ignore[method-assign]  # any refusal
    io = HadoopFileIO(lambda address: refusing)
    with pytest.raises(NotCreated):
        io.create_if_absent("hdfs://name:8020/t/snapshot-1", b"x")


def test_hadoop_without_its_native_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ARROW_LIBHDFS_DIR", str(tmp_path))
    monkeypatch.delenv("HADOOP_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)  # an extra that is not installed
    monkeypatch.delitem(sys.modules, "paimon_spark.file_io.native_hdfs", raising=False)
    with pytest.raises(UnsupportedFeature, match=r"pip install 'paimon-spark\[hdfs\]', .* HADOOP_HOME"):
        file_io_for("hdfs://name:8020/t", {}).read_bytes("hdfs://name:8020/t/x")


def test_hadoop_without_a_name_node() -> None:
    def refuse(root: str) -> HadoopClient:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    told = "there is no connection to hdfs://name:8020 (Connection refused): check the address, that the name node runs"
    io = HadoopFileIO(refuse)
    for call in (lambda: io.list("hdfs://name:8020/t"), lambda: io.create_if_absent("hdfs://name:8020/t/x", b"x")):
        with pytest.raises(StorageError, match=re.escape(told)):
            call()
    opening = named_location("opening", "hdfs://name:8020/t")
    with pytest.raises(StorageError, match=rf"^opening hdfs://name:8020/t: {re.escape(told)}"), opening:
        io.exists("hdfs://name:8020/t/schema")


def test_hadoop_addresses() -> None:
    assert split_hadoop("hdfs://name:8020/a/b/") == ("hdfs://name:8020", "/a/b")
    assert split_hadoop("hdfs:///a") == ("hdfs://default", "/a")
    assert split_hadoop("viewfs://cluster/") == ("viewfs://cluster", "/")


def test_refuses_a_lookalike_that_ignores_conditions() -> None:
    """Says 200 to every request, as old S3 servers do to an If-None-Match they do not know."""
    with s3_that_says("200 OK", "") as options, pytest.raises(UnsupportedFeature, match="If-None-Match"):
        file_io_for("s3://old/t", options).create_if_absent("s3://old/t/snapshot/snapshot-1", b"x")


def test_s3_settings_under_all_their_names() -> None:
    expected = (
        ("access_key_id", "k"),
        ("endpoint", "http://h:9000"),
        ("path_style", "true"),
        ("region", "r"),
        ("secret_access_key", "s"),
    )
    assert expected == s3_config(
        {"s3.endpoint": "http://h:9000", "s3.access-key": "k", "s3.secret-key": "s", "s3.region": "r",
         "s3.path-style-access": "true", "bucket": "4"}
    )  # fmt: skip
    assert expected == s3_config(
        {"fs.s3a.endpoint": "http://h:9000", "fs.s3a.access.key": "k", "fs.s3a.secret.key": "s",
         "fs.s3a.endpoint.region": "r", "fs.s3a.path.style.access": "true"}
    )  # fmt: skip
    assert s3_config({"bucket": "4"}) == ()
    assert azure_config({"fs.azure.account.key.me.dfs.core.windows.net": "k"}) == (
        ("account_key@me.dfs.core.windows.net", "k"),
    )
    assert gcs_config({"fs.gs.auth.service.account.json.keyfile": "f"}) == (("service_account", "f"),)


@pytest.mark.parametrize("location", ["/lake/t", "file:/lake/t", "s3://lake/t", "gs://lake/t", "hdfs://name/t"])
def test_options_of_one_map_may_be_those_of_another_store(location: str) -> None:
    given = {
        "s3.access-key": "k",
        "fs.s3a.connection.maximum": "9",
        "fs.gs.auth.type": "UNAUTHENTICATED",
        "hadoop.user": "u",
    }
    file_io_for(location, given)
    with pytest.raises(OptionError, match=r"'s3\.acess-key' of the store .*; did you mean 's3\.access-key'"):
        file_io_for(location, {**given, "s3.acess-key": "k"})


def test_no_repr_tells_the_settings_of_a_store() -> None:
    for options in ({"s3.secret-key": "hush"}, {"s3.session-token": "hush"}):
        assert "hush" not in repr(file_io_for("s3://lake/t", options))
    assert "hush" not in repr(file_io_for("abfss://c@a.net/t", {"fs.azure.account.key.a.net": "hush"}))


def test_same_stores() -> None:
    together = [("/lake/t", "file:///other"), ("s3://a/t", "s3a://b/t"), ("abfss://c@a.net/t", "az://c/t")]
    assert [is_same_store(one, other) for one, other in together] == [True] * 3
    apart = [("/lake/t", "s3://a/t"), ("s3://a/t", "gs://a/t"), ("hdfs://h/t", "file:/t"), ("/lake/t", "oss://b/t")]
    assert [is_same_store(one, other) for one, other in apart] == [False] * 4


def test_locations() -> None:
    assert isinstance(file_io_for("/lake/t", {}), LocalFileIO)
    assert isinstance(file_io_for("relative:t", {}), LocalFileIO)
    assert isinstance(file_io_for("hdfs://h/t", {}), HadoopFileIO)
    assert isinstance(file_io_for("abfss://c@a.dfs.core.windows.net/t", {}), ObstoreFileIO)
    assert isinstance(file_io_for("gs://b/t", {}), ObstoreFileIO)
    with pytest.raises(UnsupportedFeature, match="tos://"):
        file_io_for("tos://b/t", {})
    with pytest.raises(OptionError, match="address of an object"):
        ObstoreFileIO().read_bytes("b/t")
    with pytest.raises(OptionError, match="cannot use the store"):
        ObstoreFileIO((("endpoint", "http://h"),)).read_bytes("gs://b/t")
    with pytest.raises(OptionError, match=r"'s3\.path-style-access' is 'yes': expected true or false"):
        file_io_for("s3://b/t", {"s3.endpoint": "http://h", "s3.path-style-access": "yes"}).read_bytes("s3://b/t/a")


def test_a_scheme_with_one_slash_is_no_local_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hadoop takes such a URI; as a relative path its rows would lie in the working directory, where nobody looks."""
    monkeypatch.chdir(tmp_path)
    options = [
        ("hdfs:/lake/x", r"hdfs://<host>/lake/x names the name node, hdfs:///lake/x takes"),
        ("viewfs:/x", "viewfs:///x"),
        ("s3a:/b/x", "write s3a://b/x"),
        ("abfss:/x", "write abfss://x"),
    ]
    for location, told in options:
        with pytest.raises(OptionError, match=told):
            file_io_for(location, {})
    for location, scheme in (("dbfs:/mnt/x", "dbfs"), ("foo:/x", "foo"), ("HDFS:/x", "HDFS"), ("my+own.1:/x", "my")):
        with pytest.raises(UnsupportedFeature, match=rf"no store serves '{scheme}.*'\./.*' is a local directory"):
            file_io_for(location, {})
    for location, _ in options:
        with pytest.raises(OptionError, match="one slash"):
            open_table(location)
        with pytest.raises(OptionError, match="one slash"):
            open_catalog(location)
    for local in ("file:/x", "C:/x", "/a:/x", "./hdfs:/x", "dt:x", "a b:/x"):
        assert isinstance(file_io_for(local, {}), LocalFileIO)
    assert list(tmp_path.iterdir()) == []


def test_only_large_local_files_are_mapped(tmp_path: Path) -> None:
    """What is read of a mapped file counts as memory that the machine may take back; a small one is read sooner."""
    for size, kind in ((0, pa.OSFile), (1 << 20, pa.OSFile), (1 << 23, pa.MemoryMappedFile)):
        path = tmp_path / str(size)
        with path.open("wb") as file:
            file.truncate(size)
        with LocalFileIO().open_input(str(path)) as source:
            assert isinstance(source, kind)
            assert len(source.read()) == size
