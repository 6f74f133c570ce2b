"""Tags, times, automatic tags and the ids around a table's life as ends of a change: as genuine Java takes them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from genuine import Genuine, table_path
from readers import java_change, our_change

from paimon_spark import open_table
from paimon_spark.errors import OptionError, SnapshotNotFound

pytestmark = pytest.mark.interop

TAGS = {"2026-11-01": 1, "2026-11-03": 3, "2026-11-05": 4, "first": 1, "third": 3, "4": 2, "3": 1}
MODES = ("auto", "delta", "changelog", "diff")


@pytest.fixture(scope="module")
def path(java: Genuine, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Four commits, each of keys of its own and of an update; tags at some."""
    path = table_path(tmp_path_factory.mktemp("ends"))
    java.create(path, {"k": "INT NOT NULL", "v": "STRING"}, ["k"], [], {"bucket": "1", "changelog-producer": "input"})
    for number in range(4):
        rows = [(number, f"new in {number}"), (100, f"updated in {number}")]
        java.write(path, rows, ["+I", "+U"], {"write-only": "true"})
    for name, snapshot in TAGS.items():
        java.create_tag(path, name, snapshot)
    return path


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("as_ids", ["false", "true"])
@pytest.mark.parametrize("ends", ["first,third", "first,first", "3,4", "2,4", "0,4", "1,3", "2,2"])
def test_ids_and_tags(ends: str, as_ids: str, mode: str, java: Genuine, path: str) -> None:
    """Java 2.0 has no state before the first commit, and no difference of tags that are taken as ids; we have."""
    options = {
        "incremental-between": ends,
        "incremental-between-scan-mode": mode,
        "incremental-between-tag-to-snapshot": as_ids,
    }
    tags = as_ids == "true" and ends in ("first,third", "first,first", "3,4")
    if mode == "diff" and (ends == "0,4" or tags):
        with pytest.raises(RuntimeError, match="Java"):
            java.audit_log(path, options)
        plain = {"incremental-between": ends} if tags else {"scan.snapshot-id": "4"}
        assert our_change(path, options) == java_change(java, path, plain)
        return
    assert our_change(path, options) == java_change(java, path, options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("start", "end"), [(0, 3), (0, 0), (1, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_times(start: int, end: int, shift: int, mode: str, java: Genuine, path: str) -> None:
    """Java 2.0 leaves the first commit out of a difference that starts before it; its successors and we do not."""
    times = [open_table(path).snapshots.load(i).time_millis for i in range(1, 5)]
    first, last = times[start] + shift, times[end] + abs(shift)
    options = {"incremental-between-timestamp": f"{first},{last}", "incremental-between-scan-mode": mode}
    if mode == "diff" and first < times[0]:
        state = {"scan.timestamp-millis": str(last)}
        assert our_change(path, options) == java_change(java, path, state)
        return
    assert our_change(path, options) == java_change(java, path, options)


@pytest.mark.parametrize("tag", ["2026-11-01", "2026-11-03", "2026-11-04", "2026-11-05"])
def test_automatic_tags(tag: str, java: Genuine, path: str) -> None:
    options = {"incremental-to-auto-tag": tag}
    assert our_change(path, options) == java_change(java, path, options)


@pytest.mark.parametrize(
    "options",
    [
        {"incremental-between": "4,9"},
        {"incremental-between": "first,2"},
        {"incremental-between": "third,first"},
        {"incremental-between": "2,1"},
        {"incremental-between": "1"},
        {"incremental-between-timestamp": "2,1"},
        {"incremental-between-timestamp": "yesterday,today"},
        {"incremental-to-auto-tag": "third"},
    ],
    ids=str,
)
def test_what_java_refuses(options: dict[str, str], java: Genuine, path: str) -> None:
    with pytest.raises(RuntimeError, match="Java"):
        java.audit_log(path, options)
    with pytest.raises((OptionError, SnapshotNotFound)):
        our_change(path, options)


def test_expired_commits(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, {"k": "INT NOT NULL"}, ["k"], [], {"bucket": "1"})
    for number in range(4):
        java.write(path, [(number,)], None, {"write-only": "true"})
    java.expire_snapshots(path, 2)
    assert our_change(path, {"incremental-between": "2,4"}) == java_change(java, path, {"incremental-between": "2,4"})
    with pytest.raises(RuntimeError, match="out of available snapshotId range"):
        java.audit_log(path, {"incremental-between": "1,4"})
    with pytest.raises(SnapshotNotFound, match="there are commits 3 to 4"):
        our_change(path, {"incremental-between": "1,4"})
    options = {"incremental-between-timestamp": f"0,{2**62}"}
    assert our_change(path, options) == java_change(java, path, options) == Counter({("+I", 2): 1, ("+I", 3): 1})
