"""Task managers, a job manager, our processes and executors of Spark are killed at random while all write: nothing is
lost, and nothing is there twice.

``PAIMON_FLINK_KILL_MINUTES`` sets how long; CI does not try it, because a cluster of Flink and one of Spark take a
minute to start. ``PAIMON_SEED`` sets who is killed.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from flink_kills import Kills
from genuine_jars import JavaUnavailable
from support.long_runs import run_seed, tries

pytestmark = pytest.mark.interop

MINUTES = tries("PAIMON_FLINK_KILL_MINUTES", ci=0, long=30)


@pytest.mark.skipif(not MINUTES, reason="two clusters take a minute to start: PAIMON_LONG=1")
def test_kills(tmp_path: Path) -> None:
    seed = random.Random(run_seed()).randrange(10**6)
    try:
        print(dict(Kills(seed, tmp_path, MINUTES).run()))
    except JavaUnavailable as reason:
        pytest.skip(str(reason))
