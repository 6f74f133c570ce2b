"""Readers of Iceberg see the rows of a table after any history, at the latest and at an earlier snapshot.

``PAIMON_ICEBERG`` sets how many tables are tried, each by its number as seed; ``PAIMON_DUCKDB`` and
``PAIMON_ICEBERG_LIBRARY`` add readers (iceberg_readers.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from iceberg_histories import IcebergHistory
from iceberg_readers import Reader, other_readers
from readers import telling
from support.long_runs import tries
from support.oracles.checker import check_table

COUNT = tries("PAIMON_ICEBERG", ci=3, long=30)


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Reader]]:
    with other_readers(tmp_path_factory.mktemp("readers")) as made:
        yield made


@pytest.mark.parametrize("seed", range(COUNT))
def test_readers_of_iceberg_see_the_rows(seed: int, tmp_path: Path, readers: list[Reader]) -> None:
    history = IcebergHistory(seed, str(tmp_path), readers)
    with telling(history.log):
        history.run()
        check_table(history.path)
