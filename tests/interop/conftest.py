"""The genuine Java Paimon for tests: one process a release and session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from genuine import Genuine, java_process
from genuine_jars import JavaUnavailable


@pytest.fixture(scope="session")
def java() -> Iterator[Genuine]:
    """Java Paimon 2.0.0."""
    yield from _release("2.0.0")


@pytest.fixture(scope="session")
def older_java() -> Iterator[Genuine]:
    """Java Paimon 1.4.2."""
    yield from _release("1.4.2")


def _release(version: str) -> Iterator[Genuine]:
    try:
        with java_process(version) as served:
            yield served
    except JavaUnavailable as reason:
        pytest.skip(str(reason))
