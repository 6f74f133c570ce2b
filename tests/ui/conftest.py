"""A small catalog, and ``paimon-spark ui`` over it in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paimon_spark import open_catalog

MARKUP = "<img src=x onerror=document.title='run'>"


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``shop.orders`` has a key, 3 partitions, 2 buckets, 6 snapshots and a tag; ``shop.clicks`` is append only."""
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
