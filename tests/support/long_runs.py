"""How much tests try: everything where ``PAIMON_LONG=1``, which takes hours, else what CI has time for."""

from __future__ import annotations

import os
import random

LONG = os.environ.get("PAIMON_LONG") == "1"
CI_SHARE = 8  # CI tries every eighth example; each seed draws others
SEED = "PAIMON_SEED"


def draws() -> random.Random:
    """Draws what CI looks at: another share for each seed, the same one in all workers of a run."""
    return random.Random(run_seed())


def run_seed() -> str:
    """The seed of all that a run draws. It is printed at the head of a run; ``PAIMON_SEED`` sets another one."""
    return os.environ.get(SEED, "1")


def examples(count: int) -> int:
    """How many examples a property test draws.

    Args:
        count: how many it draws where PAIMON_LONG=1.
    """
    return count if LONG else max(count // CI_SHARE, 10)


def tries(variable: str, ci: int, long: int | None = None) -> int:
    """How often a test tries something: as an environment variable says, else as CI has time for.

    Args:
        variable: its name, such as PAIMON_HISTORIES.
        ci: the number where the variable is not set.
        long: the number where PAIMON_LONG=1; None: as in CI.
    """
    default = long if LONG and long is not None else ci
    return int(os.environ.get(variable, default))
