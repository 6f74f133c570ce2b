"""Random lives of primary-key tables, step by step the same to both readers and sound to the checker.

``PAIMON_LSM_HISTORIES`` sets how many are tried (each by its number as seed), ``PAIMON_LSM_STEPS`` how long they are.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from engine_tables import SETS, Blobs
from genuine import Genuine, table_path
from lsm_histories import LsmHistory

pytestmark = pytest.mark.interop

COUNT = int(os.environ.get("PAIMON_LSM_HISTORIES", "15"))
STEPS = int(os.environ.get("PAIMON_LSM_STEPS", "8"))


@pytest.fixture(scope="session")
def blobs(java: Genuine) -> Blobs:
    """Values of the functions of opaque bytes, as Java writes them."""
    sets = [[], [1], [2, 3], list(range(100)), [7, 2**31, 2**17], [5 * i for i in range(300)]]
    return {name: [java.number_bytes(name.removesuffix("_sketch"), s) for s in sets] for name in SETS}


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_life_of_a_table(seed: int, java: Genuine, blobs: Blobs, tmp_path: Path) -> None:
    history = LsmHistory(random.Random(seed).getrandbits(32) * 5 + seed % 5, table_path(tmp_path), java, blobs, STEPS)
    try:
        history.run()
    except Exception as error:
        error.add_note("\n".join(history.log))
        raise
