"""Flink reads tables as streams while we write, change, compact and expire them: the changes of each key are those that
our own stream from the same place has, with the same kinds and in the same order.

``PAIMON_FLINK_READS`` sets how many rounds are tried (each by its number as seed), ``PAIMON_FLINK_STEPS`` how long they
are. The rounds go through the kinds of tables in turn.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from flink_readers import run_readers
from flink_session import flink_session
from genuine_jars import JavaUnavailable
from readers import telling
from support.long_runs import tries

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_FLINK_READS", ci=1, long=15)
STEPS = tries("PAIMON_FLINK_STEPS", ci=8, long=40)
TABLES = 3


@pytest.mark.parametrize("seed", range(COUNT))
def test_streams_of_flink(seed: int, tmp_path: Path) -> None:
    log: list[str] = []
    try:
        with flink_session(str(tmp_path), tmp_path / "flink.log") as flink, telling(log):
            flink.sql("CREATE DATABASE d")
            print(run_readers(seed, flink, tmp_path, TABLES, STEPS, log))
    except JavaUnavailable as reason:
        pytest.skip(str(reason))
