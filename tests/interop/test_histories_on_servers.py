"""Histories of commits by us and by Java in turn, in tables on real storage servers: both read the same rows.

Java reaches versitygw and MinIO by its own jar for S3, and HDFS by the client of Hadoop. The environment tells us where
the store is, so that the histories are those of test_histories.py.
``PAIMON_SERVER_HISTORIES`` sets how many are tried on each server.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable
from histories import History
from java_table import S3_JAR
from readers import telling
from support.long_runs import tries
from support.oracles.checker import check_table
from support.servers.builds import ServerUnavailable
from support.servers.storage import STORAGE_SERVERS, StorageServer

from paimon_spark.file_io.object_store import forget_clients

pytestmark = [pytest.mark.interop, pytest.mark.server]

COUNT = tries("PAIMON_SERVER_HISTORIES", ci=2, long=100)
JARS = {"versitygw": [S3_JAR], "minio": [S3_JAR], "hdfs": []}
VARIABLES = {
    "s3.endpoint": "AWS_ENDPOINT_URL",
    "s3.access-key": "AWS_ACCESS_KEY_ID",
    "s3.secret-key": "AWS_SECRET_ACCESS_KEY",
    "s3.region": "AWS_REGION",
}


@pytest.fixture(scope="module", params=[name for name in JARS if name in STORAGE_SERVERS])
def server(request: pytest.FixtureRequest) -> Iterator[StorageServer]:
    try:
        with STORAGE_SERVERS[request.param]() as running, pytest.MonkeyPatch.context() as environment:
            for option, variable in VARIABLES.items():
                if option in running.options:
                    environment.setenv(variable, running.options[option])
            forget_clients()  # of a bucket of that name on the server before
            yield running
    except ServerUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def java(server: StorageServer) -> Iterator[Genuine]:
    """Java Paimon 2.0.0 that reaches the server."""
    storage = {**server.options, "s3.path.style.access": "true", "s3.endpoint.region": "us-east-1"}
    try:
        with java_process("2.0.0", *JARS[server.name], storage=storage) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history_reads_the_same(seed: int, server: StorageServer, java: Genuine) -> None:
    history = History(seed, f"{server.root}/{uuid4().hex}/lake.db/t", java)
    with telling(history.log):
        history.run()
        history.check_reads()
        check_table(history.path)
