"""The changes that ``mutation_share`` makes: each is one change, of a place that means something."""

from __future__ import annotations

import ast

from source_changes import count_places, mutate

SOURCE = '''
"""Text of a module: 1 < 2."""
LIMIT = 5
def find(rows: list[int], at: int = 0) -> int | None:
    """Text of a function."""
    _log.info("1 + 1", 7)
    if at < LIMIT and not rows:
        raise ValueError(f"{at + 1}")
    rows.append(at)
    return rows[at] if rows else None
_THREADS = 8
PAIRS = list(zip("ab", "cd", strict=True))
'''


def test_every_change_is_one_change_of_code() -> None:
    before = ast.unparse(ast.parse(SOURCE))
    changes = [mutate(SOURCE, index) for index in range(count_places(SOURCE))]
    assert sorted((change.line, change.kind, change.after) for change in changes) == [
        (3, "constant", "6"),
        (4, "constant", "1"),
        (7, "and/or", "at < LIMIT or not rows"),
        (7, "comparison", "at <= LIMIT"),
        (7, "condition", changes[2].after),
        (7, "not", "rows"),
        (8, "no raise", "pass"),
        (9, "no call", "None"),
        (10, "condition", "None if rows else rows[at]"),
        (10, "return None", "return None"),
    ]
    assert changes[2].after.startswith("if not (at < LIMIT and (not rows)):")
    for change in changes:
        lines = zip(before.splitlines(), change.source.splitlines(), strict=True)
        assert sum(old != new for old, new in lines) == 1, change
        compile(change.source, "changed", "exec")
