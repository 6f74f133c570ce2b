"""Orphan files as Java finds them: of two copies of any table, one cleaned by Java, one by us, the same files remain.

``PAIMON_ORPHAN_HISTORIES`` sets how many are tried (each by its number as seed), ``PAIMON_ORPHAN_STEPS`` how long they
are.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_tables import Blobs
from genuine import Genuine
from orphan_histories import OrphanHistory
from readers import telling

pytestmark = pytest.mark.interop

COUNT = int(os.environ.get("PAIMON_ORPHAN_HISTORIES", "6"))
STEPS = int(os.environ.get("PAIMON_ORPHAN_STEPS", "8"))


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_same_orphans(seed: int, java: Genuine, blobs: Blobs, tmp_path: Path) -> None:
    history = OrphanHistory(seed, tmp_path, java, blobs, STEPS)
    with telling(history.log):
        history.run()
