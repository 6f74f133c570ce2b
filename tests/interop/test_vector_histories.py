"""Random histories of tables with VECTOR columns, by us and by Java: both read the same rows, now and then.

``PAIMON_VECTORS`` sets how many are tried (each by its number as seed, so that a failure can be repeated).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from genuine import Genuine, table_path
from readers import telling
from support.long_runs import tries
from vector_lives import VectorLife

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_VECTORS", ci=3, long=200)


@pytest.mark.parametrize("seed", range(COUNT))
def test_vectors_that_both_write_are_read_alike(seed: int, java: Genuine, tmp_path: Path) -> None:
    life = VectorLife(Random(seed), table_path(tmp_path), java)
    with telling(life.log):
        for _ in range(9):
            life.step()
            life.check()
        life.check_history()
        life.tidy()
