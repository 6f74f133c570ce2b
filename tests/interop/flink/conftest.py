"""One Flink for all tests that need no settings of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flink_session import FlinkSession, flink_session
from genuine_jars import JavaUnavailable


@pytest.fixture(scope="session")
def flink_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flink")


@pytest.fixture(scope="session")
def flink(flink_warehouse: Path) -> Iterator[FlinkSession]:
    """Flink on a warehouse with a database `d`; a failed job is not started again unless a test says so."""
    try:
        with flink_session(str(flink_warehouse), flink_warehouse / "flink.log") as session:
            session.sql("CREATE DATABASE d")
            yield session
    except JavaUnavailable as reason:
        pytest.skip(str(reason))
