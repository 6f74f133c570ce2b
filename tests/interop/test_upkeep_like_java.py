"""Expiry and removal of orphans as Java does them: of two copies of any table, one is Java's and one ours, and the same
files remain.

``PAIMON_EXPIRY_HISTORIES`` and ``PAIMON_ORPHAN_HISTORIES`` set how many are tried (each by its number as seed),
``PAIMON_UPKEEP_STEPS`` how long they are.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_tables import Blobs
from expiry_histories import ExpiryHistory
from genuine import Genuine
from orphan_histories import OrphanHistory
from readers import telling
from support.long_runs import tries

pytestmark = pytest.mark.interop

KINDS = {
    ExpiryHistory: tries("PAIMON_EXPIRY_HISTORIES", ci=4, long=8),
    OrphanHistory: tries("PAIMON_ORPHAN_HISTORIES", ci=3, long=6),
}
STEPS = tries("PAIMON_UPKEEP_STEPS", ci=8)


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, count in KINDS.items() for seed in range(count)])
def test_the_same_files_remain(
    kind: type[ExpiryHistory], seed: int, java: Genuine, blobs: Blobs, tmp_path: Path
) -> None:
    history = kind(seed, tmp_path, java, blobs, STEPS)
    with telling(history.log):
        history.run()
