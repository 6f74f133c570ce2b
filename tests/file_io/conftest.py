"""Every store there is here: local disk, memory, Hadoop's rules over a local disk, moto, and real storage servers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from support.faults.hadoop_rules import hadoop_rules
from support.programs.s3_server import s3_server
from support.servers.builds import ServerUnavailable
from support.servers.storage import STORAGE_SERVERS, RunningServers, StorageServer

from paimon_spark.file_io import DirectoryIO, file_io_for
from paimon_spark.file_io.hadoop import HadoopFileIO

Store = tuple[DirectoryIO, str]


@pytest.fixture(scope="module")
def s3_options() -> Iterator[dict[str, str]]:
    with s3_server("lake") as options:
        yield options


@pytest.fixture(scope="session")
def storage_servers() -> Iterator[RunningServers]:
    """Real storage servers, each started when a test first asks for it."""
    servers = RunningServers()
    yield servers
    servers.stop()


def _server(servers: RunningServers, name: str) -> StorageServer:
    try:
        return servers.get(name)
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.server) for name in STORAGE_SERVERS])
def server(request: pytest.FixtureRequest, storage_servers: RunningServers) -> StorageServer:
    """Each real storage server."""
    return _server(storage_servers, request.param)


@pytest.fixture(
    params=[
        *("local", "file-uri", "memory", "s3", "hadoop"),
        *(pytest.param(name, marks=pytest.mark.server) for name in STORAGE_SERVERS),
    ]
)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param in STORAGE_SERVERS:
        running = _server(request.getfixturevalue("storage_servers"), request.param)
        location = f"{running.root}/{uuid4().hex}"
        return file_io_for(location, running.writing), location
    match request.param:
        case "local":
            return file_io_for(f"{tmp_path}/lake", {}), f"{tmp_path}/lake"
        case "file-uri":
            return file_io_for(f"file://{tmp_path}/lake", {}), f"file://{tmp_path}/lake"
        case "memory":
            location = f"memory://{uuid4().hex}/lake"
            return file_io_for(location, {}), location
        case "s3":
            location = f"s3://lake/{uuid4().hex}"
            return file_io_for(location, request.getfixturevalue("s3_options")), location
    return HadoopFileIO(partial(hadoop_rules, str(tmp_path))), "hdfs://name:8020/lake"
