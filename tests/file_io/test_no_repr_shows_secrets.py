"""No repr shows a secret of the storage: users print tables, and logs and errors hold what they print."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

from paimon_spark import create_table
from paimon_spark.store.commit.table_commit import TableCommit

SECRETS = {"s3.secret-key": "hush-key", "s3.session-token": "hush-token", "fs.azure.account.key.x": "hush-azure"}
_DEPTH = 4


def parts(value: object, depth: int = _DEPTH) -> Iterator[object]:
    """A value and the values that it is made of."""
    yield value
    if depth:
        for part in getattr(value, "__dict__", {}).values():
            yield from parts(part, depth - 1)


def test_what_an_open_table_is_made_of() -> None:
    table = create_table(f"memory://{uuid4()}/t", {"id": "INT"}, "id", options={**SECRETS, "bucket": "1"})
    table.append({"id": [1]})
    commit = TableCommit(table, "user", 0)
    found = [part for shown in (table, table.scan(), table.snapshots, commit) for part in parts(shown)]
    assert len(found) > 50
    held = [part for part in found if isinstance(part, tuple) and "hush-key" in repr(part)]
    assert held, "the table has the options"
    shown = [part for part in found if not isinstance(part, tuple | dict)]
    assert [type(part).__name__ for part in shown if "hush-" in f"{part!r}{part}"] == []
