"""Random lives of primary-key tables, step by step the same to both readers and sound to the checker.

``PAIMON_LSM_HISTORIES`` sets how many are tried (each by its number as seed), ``PAIMON_LSM_STEPS`` how long they are.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from engine_tables import Blobs
from genuine import Genuine, table_path
from lsm_histories import LsmHistory
from readers import telling
from support.long_runs import tries

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_LSM_HISTORIES", ci=6, long=15)
STEPS = tries("PAIMON_LSM_STEPS", ci=8)


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_life_of_a_table(seed: int, java: Genuine, blobs: Blobs, tmp_path: Path) -> None:
    history = LsmHistory(random.Random(seed).getrandbits(32) * 5 + seed % 5, table_path(tmp_path), java, blobs, STEPS)
    with telling(history.log):
        history.run()
