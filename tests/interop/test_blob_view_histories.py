"""Random histories of tables with blobs and of views of them, by us and by Java: both follow them alike.

``PAIMON_BLOB_VIEWS`` sets how many are tried (each by its number as seed, so that a failure can be repeated).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from blob_view_lives import BlobViewLife
from genuine import Genuine
from readers import telling
from support.long_runs import tries

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_BLOB_VIEWS", ci=2, long=200)


@pytest.mark.parametrize("seed", range(COUNT))
def test_views_that_both_write_are_followed_alike(seed: int, java: Genuine, tmp_path: Path) -> None:
    life = BlobViewLife(Random(seed), tmp_path, java)
    with telling(life.log):
        for number in range(12):
            life.step()
            if number % 3 == 2:
                life.check()
