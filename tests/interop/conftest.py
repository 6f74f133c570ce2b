"""The genuine Java Paimon for tests: one process a release and session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from engine_tables import SETS, Blobs
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable
from genuine_spark import is_there
from java_rest_server import JavaRestServer, java_rest_server

from paimon_spark import open_catalog

# What needs the official connector throughout; it comes from no index of packages, and is named by hand.
collect_ignore = [] if is_there() else ["test_data_evolution_of_spark.py"]


@pytest.fixture(scope="session")
def java() -> Iterator[Genuine]:
    """Java Paimon 2.0.0."""
    yield from _release("2.0.0")


@pytest.fixture(scope="session")
def older_java() -> Iterator[Genuine]:
    """Java Paimon 1.4.2."""
    yield from _release("1.4.2")


@pytest.fixture(scope="session")
def blobs(java: Genuine) -> Blobs:
    """Values of the functions of opaque bytes, as Java writes them."""
    sets = [[], [1], [2, 3], list(range(100)), [7, 2**31, 2**17], [5 * i for i in range(300)]]
    wide = [*sets, [2**40, 2**63, 2**64 - 1], [i << 24 for i in range(20)]]
    kinds = {"rbm32": sets, "rbm64": wide, "hll_sketch": wide, "theta_sketch": wide}
    return {name: [java.number_bytes(name.removesuffix("_sketch"), s) for s in kinds[name]] for name in SETS}


@pytest.fixture(scope="module")
def java_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaRestServer]:
    """A REST server of Java Paimon."""
    try:
        with java_rest_server(tmp_path_factory.mktemp("java")) as server:
            yield server
    except JavaUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def server(java_server: JavaRestServer) -> JavaRestServer:
    """A REST server of Java Paimon, with a database `d`."""
    open_catalog(java_server.options).create_database("d")
    return java_server


def _release(version: str) -> Iterator[Genuine]:
    try:
        with java_process(version) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))
