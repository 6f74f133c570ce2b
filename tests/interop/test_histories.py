"""Alternating writers: after any history of commits by us and by Java both read the same rows, now and in the past.

The table is also what its metadata say.

``PAIMON_HISTORIES`` sets how many histories are tried (each by its number as seed, so that a failure can be repeated).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from genuine import Genuine, table_path
from histories import History
from readers import telling
from support.long_runs import tries
from support.oracles.checker import check_table

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_HISTORIES", ci=6, long=15)


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_history_reads_the_same(seed: int, java: Genuine, tmp_path: Path) -> None:
    history = History(seed, table_path(tmp_path), java)
    with telling(history.log):
        history.run()
        history.check_reads()
        check_table(history.path)
