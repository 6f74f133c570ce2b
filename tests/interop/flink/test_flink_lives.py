"""Flink writes tables as streams, and we read and keep them meanwhile: nothing fails, and all rows are as a model says.

``PAIMON_FLINK_LIVES`` sets how many lives are tried (each by its number as seed), ``PAIMON_FLINK_ROWS`` how many rows
each of its tables gets.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from flink_lives import FlinkLife
from flink_session import flink_session
from genuine_jars import JavaUnavailable
from readers import telling
from support.long_runs import LONG, tries

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_FLINK_LIVES", ci=1, long=20)
ROWS = tries("PAIMON_FLINK_ROWS", ci=4_000, long=20_000)
TABLES = 6 if LONG else 3
RATE = 800  # rows a second


@pytest.mark.parametrize("seed", range(COUNT))
def test_tables_that_flink_writes(seed: int, tmp_path: Path) -> None:
    try:
        with flink_session(str(tmp_path), tmp_path / "flink.log") as flink:
            life = FlinkLife(seed, flink, tmp_path, TABLES, ROWS, RATE)
            with telling(life.log):
                print(dict(life.run()))
    except JavaUnavailable as reason:
        pytest.skip(str(reason))
