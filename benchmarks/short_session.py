"""The short set of ``./dev bench --compare``: what one release takes for each of its lines, printed as JSON.

``python short_session.py DIRECTORY PACKAGE``. It takes ``paimon_spark`` from its path, and only what is public: the
same lines run with another commit. A time is processor time, which the load of a shared machine changes little; it is
the best of several, but of what can be done once only.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

_BEGAN = time.process_time()
import paimon_spark.store.scan.table_scan  # noqa: E402
import paimon_spark.tables.open  # noqa: E402  # what a process without Spark imports for a table

_IMPORTED = time.process_time() - _BEGAN

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

from paimon_spark import create_table, open_table  # noqa: E402

ROWS, KEYS, RUNS, PARTITIONS, COMMITS = 1_000_000, 1_000_000, 6, 500, 40
TIMES = 3
LEAST_SECONDS = 0.3
"""What is short is done until it has taken so long."""


def rows(first: int, count: int, step: int = 1) -> pa.Table:
    """Rows with ascending keys: numbers, a text of few values and one of many."""
    keys = np.arange(first, first + count * step, step, dtype=np.int64)
    kind = pa.DictionaryArray.from_arrays(pa.array(keys % 1000, pa.int32()), [f"kind-{i:04d}" for i in range(1000)])
    text = pa.array(keys).cast(pa.string())
    return pa.table({"id": keys, "kind": kind.cast(pa.string()), "text": text, "n": keys * 7 % 1000, "v": keys * 0.5})


def best(work: Callable[[], object], times: int = TIMES) -> float:
    """Processor seconds of one call."""
    found, ends = float("inf"), time.process_time() + LEAST_SECONDS
    while times > 0 or time.process_time() < ends:
        began = time.process_time()
        work()
        found, times = min(found, time.process_time() - began), times - 1
    return found


def once(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def of_append_table(root: Path) -> dict[str, float]:
    path, data = str(root / "appended"), rows(0, ROWS)
    create_table(path, data.schema)
    table = open_table(path)
    return {
        f"append of {ROWS:,} rows": best(lambda: table.append(data)),
        "read of an append table": best(lambda: open_table(path).scan().to_arrow()),
        "read of an append table, one condition": best(
            lambda: open_table(path).scan(["id", "n"], where="n = 7").to_arrow()
        ),
    }


def of_key_table(root: Path) -> dict[str, float]:
    path, schema = str(root / "keyed"), rows(0, 1).schema
    create_table(path, schema, primary_keys="id", options={"bucket": "1", "write-only": "true"})
    table = open_table(path)
    table.upsert(rows(0, KEYS))
    later = [rows(run, KEYS // 10, 10) for run in range(RUNS)]
    upserts = [once(lambda run=run: table.upsert(run)) for run in later]  # type: ignore[misc]
    copies = [open_table(shutil.copytree(path, f"{path}-{number}")) for number in range(TIMES)]
    return {
        f"upsert of {KEYS // 10:,} rows": min(upserts),
        "merged read": best(lambda: open_table(path).scan().to_arrow()),
        "merged read of two columns": best(lambda: open_table(path).scan(["id", "n"]).to_arrow()),
        "row by its key": best(lambda: open_table(path).scan(where="id = 4711").to_arrow()),
        "delete of one key": best(lambda: open_table(path).delete("id = 4711")),
        # The first one touches memory that the process gets anew, which may take longer than the work itself.
        "full compaction": min(once(lambda copy=copy: copy.compact(full=True)) for copy in copies),  # type: ignore[misc]
    }


def of_metadata(root: Path) -> dict[str, float]:
    path = str(root / "parts")
    columns = {"id": "BIGINT", "p": "INT"}
    create_table(path, columns, partition_keys="p", options={"write-only": "true"})
    table = open_table(path)
    data = pa.table({"id": pa.array(range(PARTITIONS), pa.int64()), "p": pa.array(range(PARTITIONS), pa.int32())})
    found = {f"append to {PARTITIONS} partitions": once(lambda: table.append(data))}
    one = data.slice(0, 1)
    commits = [once(lambda: open_table(path).append(one)) for _ in range(COMMITS)]
    table.append(data)
    return found | {
        "append of one row": min(commits),
        f"plan of {2 * PARTITIONS:,} files": best(lambda: open_table(path).scan().plan()),
        "plan of one partition": best(lambda: open_table(path).scan(where="p = 7").plan()),
        "$files": best(lambda: open_table(path).system_table("files").to_arrow()),
        "orphan files, none found": best(lambda: open_table(path).remove_orphan_files(dry_run=True)),
        f"expiry of {COMMITS} snapshots": once(
            lambda: open_table(path).expire_snapshots(retain_max=1, retain_min=1, max_deletes=COMMITS)
        ),
    }


def main(root: Path, package: Path) -> None:
    if not Path(paimon_spark.__file__).is_relative_to(package):
        raise SystemExit(f"paimon_spark is that of {paimon_spark.__file__}, not of {package}")
    found = {"import of what a table needs": _IMPORTED}
    for lines in (of_append_table, of_key_table, of_metadata):
        found |= lines(root)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
