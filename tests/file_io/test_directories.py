"""The contract of directories on every store: made, moved in one step or not at all, deleted as a whole."""

from __future__ import annotations

import errno
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import boto3
import pytest
from support.faults.hadoop_rules import hadoop_rules

from paimon_spark.errors import StorageError, UnsupportedFeature
from paimon_spark.file_io import DirectoryIO, LocalFileIO, NotCreated, file_io_for
from paimon_spark.file_io.hadoop import HadoopFileIO

Store = tuple[DirectoryIO, str]


def names_in(io: DirectoryIO, path: str) -> list[str]:
    return sorted(status.name for status in io.list(path) if not status.name.startswith("."))


def test_an_empty_directory(store: Store) -> None:
    io, root = store
    path = f"{root}/a b.db/deep"
    assert io.make_directory(path)
    assert io.exists(path)
    assert not io.make_directory(path)
    assert (names_in(io, f"{root}/a b.db"), names_in(io, path)) == (["deep"], [])
    io.delete_directory(path)
    assert not io.exists(path)
    io.delete_directory(path)


def test_a_directory_is_there_already_through_its_files(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/d/x", b"1")
    assert not io.make_directory(f"{root}/d")
    io.delete(f"{root}/d/x")
    assert io.exists(f"{root}/d"), "it outlives its last file"


def test_one_of_many_threads_makes_a_directory(store: Store) -> None:
    io, root = store
    if getattr(io, "unproved", False):
        return  # a store without conditional puts does not tell who made a directory
    io.make_directory(root)
    with ThreadPoolExecutor(8) as threads:
        for number in range(10):
            made = list(threads.map(lambda _, n=number: io.make_directory(f"{root}/d-{n}"), range(8)))
            # The client of an object store repeats a request that won and was answered by an error, and finds its own
            # file: then nobody is told to have made it. Two are never.
            assert made.count(True) == 1 or (not io.moves_directories and not any(made))


def test_a_directory_is_deleted_with_all_in_it(store: Store) -> None:
    io, root = store
    for name in ("t/x", "t/a/b/c", "t/.paimon-dropped", "t2/x"):
        io.write_bytes(f"{root}/{name}", b"1")
    io.delete_directory(f"{root}/t")
    assert not io.exists(f"{root}/t")
    assert io.read_bytes(f"{root}/t2/x") == b"1"


def test_a_directory_moves_whole_or_not(store: Store) -> None:
    io, root = store
    for name in ("from/a/x", "taken/y"):
        io.write_bytes(f"{root}/{name}", name.encode())
    if not io.moves_directories:
        with pytest.raises(UnsupportedFeature, match="cannot move a directory in one step"):
            io.move_directory(f"{root}/from", f"{root}/to")
        assert io.read_bytes(f"{root}/from/a/x") == b"from/a/x"
        return
    assert not io.move_directory(f"{root}/from", f"{root}/taken")
    assert (names_in(io, f"{root}/from"), names_in(io, f"{root}/taken")) == (["a"], ["y"])
    assert io.move_directory(f"{root}/from", f"{root}/to")
    assert io.read_bytes(f"{root}/to/a/x") == b"from/a/x"
    assert not io.exists(f"{root}/from")
    for source, target in (("from", "again"), ("to", "nowhere/to")):
        with pytest.raises(FileNotFoundError):
            io.move_directory(f"{root}/{source}", f"{root}/{target}")
    assert io.exists(f"{root}/to")


def test_parents_of_a_directory(tmp_path: Path) -> None:
    for io, root in (
        (LocalFileIO(), str(tmp_path)),
        (HadoopFileIO(partial(hadoop_rules, str(tmp_path))), "hdfs://name:8020"),
    ):
        with pytest.raises(FileNotFoundError):
            io.make_directory(f"{root}/none/d", parents=False)
        assert not (tmp_path / "none").exists()


def test_a_file_in_the_place_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(StorageError, match=f"making the directory {tmp_path}/f"):
        LocalFileIO().make_directory(f"{tmp_path}/f")


def test_links_in_a_directory_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("kept")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "whole").symlink_to(tmp_path / "mine")
    for name in ("t", "whole"):
        LocalFileIO().delete_directory(f"{tmp_path}/{name}")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert (tmp_path / "mine" / "x").read_text() == "kept"


def test_a_file_whose_directory_is_moved_away_is_not_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a table is dropped while another job creates it."""
    link = os.link

    def moved_before(source: str, target: str) -> None:
        os.rename(tmp_path / "t", tmp_path / "gone")
        link(source, target)

    monkeypatch.setattr(os, "link", moved_before)
    with pytest.raises(NotCreated, match=f"writing {tmp_path}/t/schema-0") as error:
        LocalFileIO().create_if_absent(f"{tmp_path}/t/schema-0", b"1")
    assert error.value.errno == errno.ENOENT


def test_a_file_is_created_though_its_directory_is_moved_away_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another job drops a new table, and a third one creates it again: each of them did what it was asked."""
    link, others = os.link, iter([b"theirs"])

    def moved_behind(source: str, target: str) -> None:
        link(source, target)
        if theirs := next(others, None):
            os.rename(tmp_path / "t", tmp_path / "gone")
            assert LocalFileIO().create_if_absent(target, theirs)

    monkeypatch.setattr(os, "link", moved_behind)
    monkeypatch.delattr(time, "sleep")
    assert LocalFileIO().create_if_absent(f"{tmp_path}/t/schema-0", b"ours")
    assert (tmp_path / "t" / "schema-0").read_bytes() == b"theirs"
    assert [(path.name, path.read_bytes()) for path in (tmp_path / "gone").iterdir()] == [("schema-0", b"ours")]


def test_a_file_is_created_though_its_directory_is_removed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another job has dropped the table by then, and nothing of it is left."""
    link = os.link

    def removed_behind(source: str, target: str) -> None:
        link(source, target)
        shutil.rmtree(tmp_path / "t")

    monkeypatch.setattr(os, "link", removed_behind)
    assert LocalFileIO().create_if_absent(f"{tmp_path}/t/schema-0", b"ours")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_directory_that_hadoop_marks_in_s3(s3_options: dict[str, str]) -> None:
    """Hadoop's marker, an object whose name ends in a slash, is a directory and no file in it."""
    client = boto3.client(
        "s3", endpoint_url=s3_options["s3.endpoint"], aws_access_key_id="a", aws_secret_access_key="b",
        region_name="us-east-1",
    )  # fmt: skip
    client.put_object(Bucket="lake", Key="marked/d/", Body=b"")
    io = file_io_for("s3://lake/marked", s3_options)
    assert io.exists("s3://lake/marked/d")
    assert io.list("s3://lake/marked/d") == []
    assert [status.is_directory for status in io.list("s3://lake/marked")] == [True]
    assert not io.make_directory("s3://lake/marked/d")


def test_a_local_directory_that_is_removed_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there when it was made, and is not any more when that is looked at; so it is made again."""
    place, times = tmp_path / "d", iter(range(10))
    mkdir = os.mkdir

    def overtaken(path: str, *args: int) -> None:
        if path == str(place) and next(times) == 0:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        mkdir(path, *args)

    monkeypatch.setattr(os, "mkdir", overtaken)
    assert LocalFileIO().make_directory(str(place))
    assert place.is_dir()
    file = tmp_path / "f"
    file.write_bytes(b"")
    with pytest.raises(StorageError, match="File exists"):
        LocalFileIO().make_directory(str(file))
