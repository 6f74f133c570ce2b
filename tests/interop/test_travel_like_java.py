"""Random histories read through random options of time travel, by us and by genuine Java."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from readers import telling
from support.long_runs import tries
from travel_histories import TravelHistory

pytestmark = pytest.mark.interop

COUNT = tries("PAIMON_TRAVEL_HISTORIES", ci=2, long=4)
LOOKS = tries("PAIMON_TRAVEL_LOOKS", ci=15, long=40)


@pytest.mark.parametrize("seed", range(COUNT))
def test_any_travel_reads_the_same(seed: int, java: Genuine, tmp_path: Path) -> None:
    history = TravelHistory(seed, table_path(tmp_path), java, LOOKS)
    with telling(history.log):
        history.run()
    assert history.outcomes["both read"] > LOOKS / 10
    assert history.outcomes["both refuse"] > 0
    assert Counter(history.outcomes).total() == LOOKS
