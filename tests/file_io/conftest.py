"""Every store there is here: local disk, memory, S3, and Hadoop's rules over a local disk."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from support.faults.hadoop_rules import hadoop_rules
from support.programs.s3_server import s3_server

from paimon_spark.file_io import DirectoryIO, file_io_for
from paimon_spark.file_io.hadoop import HadoopFileIO

Store = tuple[DirectoryIO, str]


@pytest.fixture(scope="module")
def s3_options() -> Iterator[dict[str, str]]:
    with s3_server("lake") as options:
        yield options


@pytest.fixture(params=["local", "file-uri", "memory", "s3", "hadoop"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
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
