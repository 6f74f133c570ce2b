"""A small catalog, and ``paimon-spark ui`` over it in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tables.files_by_hand import added, file, plain_table

from paimon_spark import open_catalog
from paimon_spark.store.commit.table_commit import TableCommit
from paimon_spark.ui import views

MARKUP = "<img src=x onerror=document.title='run'>"


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``shop.orders`` has a key, 3 partitions, 2 buckets, 6 snapshots and a tag; ``shop.clicks`` is append only.

    ``shop.many`` has more files than the page draws one by one, of which nobody wrote any.
    """
    warehouse = tmp_path_factory.mktemp("lake")
    catalog = open_catalog(str(warehouse))
    catalog.create_database("shop")
    options = {"bucket": "2", "write-only": "true"}
    columns = {"id": "BIGINT", "day": "STRING", "note": "STRING"}
    orders = catalog.new_table("shop.orders", columns, "id, day", "day", options)  # type: ignore[union-attr]
    for step in range(5):
        days = ["a", "b", MARKUP]
        orders.append({"id": [2**60 + 1, step, step], "day": days, "note": [f"note {step}"] * 3})
        if step == 1:
            orders.create_tag("first")
    orders.delete("id = 0")
    clicks = catalog.new_table("shop.clicks", {"url": "STRING"})
    clicks.append({"url": ["x"]})
    catalog.new_table("shop.nothing", {"a": "INT"})
    many = plain_table(warehouse / "shop.db/many")
    times = [None, *(1_700_000_000_000 + 1000 * number for number in range(views.FILES))]
    files = [file(f"f-{n}.parquet", n % 7, n % 2, creation_time=time) for n, time in enumerate(times)]
    TableCommit(many, "test").append([added(*files)])
    return warehouse


@pytest.fixture(scope="session")
def address(lake: Path) -> Iterator[str]:
    """The address that the command prints, with the token. Its end is what Ctrl-C makes it."""
    command = [sys.executable, "-m", "paimon_spark", "ui", str(lake)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.send_signal(2)
        _, messages = process.communicate(timeout=30)
    assert process.returncode == 130, messages
    assert messages.splitlines()[-1] == "paimon-spark ui: stopped; nothing was changed"
