"""Tables on real storage servers: written by several processes, compacted, expired, cleaned, and checked."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from support.long_runs import tries
from support.oracles.checker import check_table
from support.programs.commits_at_once import PROCESSES, commit_at_once
from support.servers.storage import RunningServers, StorageServer

from paimon_spark import create_table, open_catalog
from paimon_spark.errors import UnsupportedFeature
from paimon_spark.file_io import file_io_for
from paimon_spark.format.iceberg.documents import decode_document
from paimon_spark.format.iceberg.manifests import decode_entries, decode_manifests
from paimon_spark.store.clean.orphans import remove_orphans_before
from paimon_spark.tables.open import open_table

COMMITS = tries("PAIMON_COMMITS", 1, 50)
_HOUR = 3_600_000


def test_processes_commit_at_once(server: StorageServer, capsys: pytest.CaptureFixture[str]) -> None:
    location = f"{server.root}/{uuid4().hex}"
    if not server.is_proved:
        with pytest.raises(UnsupportedFeature, match="two writers could overwrite each other's commits"):
            create_table(location, {"id": "INT"}, options=server.options)
        return
    told = commit_at_once(location, server.options, True, COMMITS)
    with capsys.disabled():
        print(f"\n  {server.name}: {told}", end="")
    table = open_table(location, server.options)
    table.compact()
    assert table.scan().count() == PROCESSES * COMMITS


def test_the_life_of_a_table(server: StorageServer) -> None:
    location = f"{server.root}/{uuid4().hex}/a b.db/t"
    options = {"bucket": "1", "write-only": "true", **server.writing}
    table = create_table(location, {"id": "INT", "dt": "STRING", "v": "STRING"}, "id, dt", "dt", options=options)
    for number in range(4):
        table.append({"id": [number, 7], "dt": ["é:/%", "é:/%"], "v": ["x", str(number)]})
    expected = [(0, "x"), (1, "x"), (2, "x"), (3, "x"), (7, "3")]
    assert rows(location, server) == expected
    table.create_tag("before", 2)
    table.compact()
    table.expire_snapshots(retain_max=1, retain_min=1)
    assert rows(location, server) == expected
    io = file_io_for(location, server.writing)
    (folder,) = (status for status in io.list(location) if status.name.startswith("dt="))
    io.write_bytes(f"{folder.path}/bucket-0/data-lost.parquet", b"x")
    removed = remove_orphans_before(table, int(time.time() * 1000) + _HOUR, dry_run=False)
    assert f"{folder.path}/bucket-0/data-lost.parquet" in removed.paths
    assert not io.exists(f"{folder.path}/bucket-0/data-lost.parquet")
    assert open_table(location, server.options, version="before").scan().count() == 3
    table.rollback("before")
    check_table(location, server.writing)
    assert rows(location, server) == [(0, "x"), (1, "x"), (7, "1")]


def test_iceberg_metadata(server: StorageServer) -> None:
    """In a directory beside the database, where a table writes nothing else."""
    warehouse = f"{server.root}/{uuid4().hex}"
    options = {"metadata.iceberg.storage": "hadoop-catalog", **server.writing}
    table = create_table(f"{warehouse}/d.db/t", {"id": "INT", "dt": "STRING"}, (), "dt", options=options)
    for number in range(3):
        table.append({"id": [number, number], "dt": ["é", f"a b{number}"]})
    table.delete("dt = 'a b1'")
    table.create_tag("x", 2)
    place = f"{warehouse}/iceberg/d/t/metadata"
    io = file_io_for(place, server.writing)
    assert io.read_bytes(f"{place}/version-hint.text") == b"4"
    document = decode_document(io.read_bytes(f"{place}/v4.metadata.json"), place)
    assert sorted(status.name for status in io.list(place) if status.name.endswith(".json")) == ["v4.metadata.json"]
    assert list(document.json["refs"]) == ["x"]
    path = document.current["manifest-list"]
    entries = [
        entry
        for manifest in decode_manifests(io.read_bytes(path), path)
        for entry in decode_entries(io.read_bytes(manifest.path), manifest)
        if entry.is_live
    ]
    assert sum(entry.file["record_count"] for entry in entries) == 5
    assert all(io.exists(entry.path) for entry in entries)


def rows(location: str, server: StorageServer) -> list[tuple[int, str]]:
    found = open_table(location, server.options).scan(columns=["id", "v"]).to_arrow().to_pylist()
    return sorted((row["id"], row["v"]) for row in found)


KIN = {
    "oss": ("fs.oss.endpoint", "fs.oss.accessKeyId", "fs.oss.accessKeySecret", "fs.oss.region"),
    "obs": ("fs.obs.endpoint", "fs.obs.access.key", "fs.obs.secret.key", "fs.obs.region"),
    "cosn": (
        *("fs.cosn.bucket.endpoint", "fs.cosn.userinfo.secretId", "fs.cosn.userinfo.secretKey"),
        "fs.cosn.bucket.region",
    ),
}


@pytest.mark.server
@pytest.mark.parametrize("scheme", KIN)
def test_a_store_with_a_door_of_s3(storage_servers: RunningServers, scheme: str) -> None:
    """By the options that Paimon has for it; Spark gives their names in lower case."""
    server = storage_servers.get("versitygw")
    names = ("s3.endpoint", "s3.access-key", "s3.secret-key", "s3.region")
    options = dict(zip(KIN[scheme], (server.options[name] for name in names), strict=True))
    location = f"{scheme}://lake/{uuid4().hex}"
    table = create_table(location, {"id": "INT"}, "id", options={"bucket": "1", **options})
    table.append({"id": [1, 2]})
    table.append({"id": [2, 3]})
    lowered = {key.lower(): value for key, value in options.items()}
    assert open_table(location, lowered).scan().count() == 3
    check_table(location, lowered)


@pytest.mark.server
def test_a_lock_stands_in_for_conditional_puts(storage_servers: RunningServers, tmp_path: Path) -> None:
    """S3Proxy loses races; the lock of a catalog decides them in its place, for snapshots and schemas."""
    server = storage_servers.get("s3proxy")
    options = {
        "metastore": "jdbc",
        "uri": f"jdbc:sqlite:{tmp_path}/catalog.db",
        "warehouse": f"{server.root}/{uuid4().hex}",
        **server.options,
    }
    without = open_catalog({**options, "lock.enabled": "false"})
    without.create_database("d")
    with pytest.raises(UnsupportedFeature, match="or a catalog with a lock"):
        without.new_table("d.t", {"id": "INT"})
    catalog = open_catalog({**options, "catalog-key": "locked", "lock-check-max-sleep": "50 ms"})
    catalog.create_database("e")
    table = catalog.new_table("e.t", {"id": "INT"}, options={"commit.max-retries": "100"})
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: [table.append({"id": [number * 3 + n]}) for n in range(3)], range(4)))
    assert sorted(table.scan().to_arrow().column("id").to_pylist()) == list(range(12))
    check_table(table.location, dict(server.options))
