"""Expiry as Java does it: of two copies of any table, one expired by Java, one by us, the same files remain.

``PAIMON_EXPIRY_HISTORIES`` sets how many are tried (each by its number as seed), ``PAIMON_EXPIRY_STEPS`` how long they
are.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from engine_tables import Blobs
from expiry_histories import ExpiryHistory
from genuine import Genuine
from readers import telling

pytestmark = pytest.mark.interop

COUNT = int(os.environ.get("PAIMON_EXPIRY_HISTORIES", "8"))
STEPS = int(os.environ.get("PAIMON_EXPIRY_STEPS", "8"))


@pytest.mark.parametrize("seed", range(COUNT))
def test_the_same_files_remain(seed: int, java: Genuine, blobs: Blobs, tmp_path: Path) -> None:
    history = ExpiryHistory(seed, tmp_path, java, blobs, STEPS)
    with telling(history.log):
        history.run()
