"""Random values of JSON: objects and arrays in each other, names that recur, numbers of every size."""

from __future__ import annotations

from random import Random
from typing import Any

NAMES = ("a", "b", "age", "city", "é", "a.b", "", "a name that is longer than the others")
_TEXTS = ("", "x", "Beijing", "é\U0001f600", "27", 'with "quotes" and \\', "long " * 20)
_NUMBERS = (0, 1, -1, 127, 128, -32769, 2**31, 2**63 - 1, -(2**63), 2**63, 1.5, 100.99, -0.001, 1e300, 5e-324, 1e16)


def random_json(random: Random, depth: int = 3) -> Any:
    """A value as json.dumps takes it."""
    kind = random.random()
    if depth and kind < 0.4:
        names = random.sample(NAMES, random.randrange(len(NAMES)))
        return {name: random_json(random, depth - 1) for name in names}
    if depth and kind < 0.55:
        return [random_json(random, depth - 1) for _ in range(random.choice([0, 1, 2, 5]))]
    return random.choice([None, True, False, random.choice(_TEXTS), random.choice(_NUMBERS)])
