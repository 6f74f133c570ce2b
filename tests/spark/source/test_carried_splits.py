"""Splits in an option: they come back as they were, and text that somebody else made is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from support.tables.compacting import make, write
from support.tables.files_by_hand import entry, file, key, partition
from support.tables.files_by_hand import make as by_hand

from paimon_spark import open_table
from paimon_spark.errors import OptionError
from paimon_spark.format.manifest import FileKind
from paimon_spark.format.manifests.codec import encode_manifest
from paimon_spark.merge.keys.sections import SortedRun
from paimon_spark.spark.source.carried_splits import Pinned, decode_splits, encode_splits, pinned_state
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.read.splits import DeletionFile, Split

PINNED = Pinned(0, 0, "main")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return by_hand(tmp_path_factory.mktemp("carried") / "t", ("part", "id"), ("part",), {"bucket": "2"})


def a_split(table: Table) -> Split:
    runs = (SortedRun((file("c", keys=(1, 3)), file("d", keys=(4, 5)))), SortedRun((file("e", keys=(2, 2)),)))
    place = DeletionFile(f"{table.location}/index/index-1", 1, 22, 3)
    out = file("b", external_path="s3://lake/part=x/bucket-1/b")
    return Split(partition("x y"), 1, f"{table.location}/part=x y/bucket-1", (file("a"), out), (runs,), {"a": place}, 7)


def test_splits_come_back(table: Table) -> None:
    splits = (a_split(table), replace(a_split(table), raw_files=(), deletions={}, snapshot_id=None))
    text = encode_splits(splits, replace(PINNED, schema_id=3, branch="b"))
    assert pinned_state(text) == Pinned(3, 0, "b")
    assert decode_splits(text, table) == splits
    assert key(1) in {run.files[0].min_key for run in splits[0].sections[0]}


def told(table: Table) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode_splits((a_split(table),), PINNED))
    return found


def files(*entries: Any) -> str:
    return base64.b64encode(encode_manifest(entries)).decode()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda t: t.update(version=2), "it has the version 2, and this release reads 1"),
        (lambda t: t.pop("splits"), "'splits' is missing"),
        (lambda t: t.update(splits=[3]), "expected a list of objects"),
        (lambda t: t.update(files="?"), "Only base64 data is allowed"),
        (lambda t: t.update(files=base64.b64encode(b"pickle").decode()), "read.splits"),
        (lambda t: t["splits"][0].update(raw=9), "it has fewer files than its splits"),
        (lambda t: t["splits"][0].update(raw=-1), "-1 is no number of files"),
        (lambda t: t["splits"][0].update(raw=True), "True is no number of files"),
        (lambda t: t["splits"][0].update(raw=1), "files that belong to no split"),
        (lambda t: t["splits"][0].update(sections=[3]), "3 is no list"),
        (lambda t: t["splits"].append({"raw": 0, "sections": [], "vectors": []}), "a split has no files"),
        (lambda t: t["splits"][0].update(vectors=[["a", "/etc/passwd/..", 0, 1, 1]]), "read.splits"),
        (lambda t: t["splits"][0].update(vectors=[["a", "../x", 0, 1, 1]]), "absolute path"),
        (lambda t: t["splits"][0].update(vectors=[["a", "/x", -1, 1, 1]]), "no place of a deletion vector"),
        (lambda t: t["splits"][0].update(vectors=[["a"]]), "no place of a deletion vector"),
        (lambda t: t.update(files=files(entry(FileKind.ADD, file("../../x"))), splits=[]), "is no file name"),
    ],
)
def test_text_of_others_is_refused(table: Table, change: Callable[[dict[str, Any]], object], why: str) -> None:
    made = told(table)
    change(made)
    with pytest.raises(OptionError, match=why):
        decode_splits(json.dumps(made), table)


@pytest.mark.parametrize(
    ("part", "bucket", "external", "why"),
    [
        (partition("y"), 1, None, "files of several buckets"),
        (b"\x00", 1, None, "a row of 1 bytes"),
        (partition("x y"), 1, "/etc/passwd", "external place"),
        (partition("x y"), 1, "/a/../bucket-1/data", "external place"),
    ],
)
def test_files_elsewhere_are_refused(table: Table, part: bytes, bucket: int, external: str | None, why: str) -> None:
    entries = [entry(FileKind.ADD, file("data", external_path=external), part, bucket)]
    entries += [entry(FileKind.ADD, file("e"), partition("x y"), 1)] if external is None and len(part) > 1 else []
    made = {**told(table), "files": files(*entries), "splits": [{"raw": len(entries), "sections": [], "vectors": []}]}
    with pytest.raises(OptionError, match=why):
        decode_splits(json.dumps(made), table)


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5).map(json.dumps))
def test_no_text_is_more_than_an_option_error(text: str) -> None:
    with pytest.raises(OptionError, match=r"read\.splits"):
        pinned_state(text)


def test_the_source_reads_just_these_splits(spark: SparkSession, tmp_path: Path) -> None:
    """With one file of metadata: the schema. The rest of the metadata may be gone."""
    made = make(tmp_path / "t", pa.schema([pa.field("k", pa.int32(), nullable=False), ("v", pa.string())]), ["k"], {})
    write(made, [(1, "a"), (2, "a")])
    write(made, [(2, "b")])
    (split,) = open_table(made.location).scan().plan().splits
    assert isinstance(split, Split)
    text = encode_splits((split,), PINNED)
    write(made, [(3, "c")])
    for path in (tmp_path / "t" / "manifest").iterdir():
        path.unlink()
    reader = spark.read.format("paimon").schema("v string, k int")
    rows = reader.option("read.splits", text).option("filter", "k > 1").load(made.location).collect()
    assert [tuple(row) for row in rows] == [("b", 2)]
    with pytest.raises(PySparkException, match=r"the option 'read\.splits'.*make the DataFrame again"):
        reader.option("read.splits", text[:-5]).load(made.location).collect()
