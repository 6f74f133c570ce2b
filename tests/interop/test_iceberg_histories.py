"""Readers of Iceberg see the rows of a table after any history, at the latest and at an earlier snapshot.

``PAIMON_ICEBERG`` sets how many tables are tried, each by its number as seed; ``PAIMON_DUCKDB`` adds DuckDB.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from iceberg_histories import IcebergHistory
from iceberg_readers import Duck, duck
from readers import telling
from support.long_runs import tries
from support.oracles.checker import check_table

COUNT = tries("PAIMON_ICEBERG", ci=3, long=30)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Duck | None]:
    with duck(tmp_path_factory.mktemp("duck")) as made:
        yield made


@pytest.mark.parametrize("seed", range(COUNT))
def test_readers_of_iceberg_see_the_rows(seed: int, tmp_path: Path, other: Duck | None) -> None:
    history = IcebergHistory(seed, str(tmp_path), other)
    with telling(history.log):
        history.run()
        check_table(history.path)
