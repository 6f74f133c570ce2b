"""How much tests try: everything where ``PAIMON_LONG=1``, which takes hours, else what CI has time for."""

from __future__ import annotations

import os

LONG = os.environ.get("PAIMON_LONG") == "1"
CI_SHARE = 4  # CI tries every fourth example; each run draws others


def examples(count: int) -> int:
    """How many examples a property test draws.

    Args:
        count: how many it draws where PAIMON_LONG=1.
    """
    return count if LONG else max(count // CI_SHARE, 10)
