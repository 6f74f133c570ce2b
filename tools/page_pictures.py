"""Draws the pictures of docs/guides/browser-page.md: makes a warehouse, serves its page, and photographs it.

It needs Chromium. ``.venv/bin/python tools/page_pictures.py`` writes docs/assets/page-*.png.
"""

from __future__ import annotations

import datetime as dt
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

from paimon_spark import open_catalog

ROOT = Path(__file__).parents[1]
VIEWS = {
    "catalog": ("", 360),
    "overview": ("shop.orders/overview", 1040),
    "files": ("shop.orders/files", 760),
    "partitions": ("shop.orders/partitions", 900),
    "compaction": ("shop.orders/compaction", 720),
    "changes": ("shop.orders/changes/before-sale/39", 620),
}


def make(warehouse: Path) -> None:
    """Days of orders that grow, with upserts, a compaction now and then, and a correction at the end."""
    random.seed(11)
    catalog = open_catalog(str(warehouse))
    catalog.create_database("shop")
    columns = {"id": "BIGINT", "day": "STRING", "amount": "DECIMAL(8, 2)", "state": "STRING"}
    options = {"bucket": "2", "write-only": "true", "snapshot.num-retained.min": "100"}
    orders = catalog.new_table("shop.orders", columns, "id, day", "day", options)  # type: ignore[union-attr]
    for step in range(36):
        count = 200 + 40 * step
        days = [f"2026-11-{random.randint(max(1, step // 3 - 3), step // 3 + 1):02}" for _ in range(count)]
        orders.append(
            {
                "id": [random.randrange(20_000) for _ in range(count)],
                "day": days,
                "amount": [Decimal(random.randrange(100, 99_999)) / 100 for _ in range(count)],
                "state": [random.choice(["paid", "sent", "returned"]) for _ in range(count)],
            }
        )
        if step in (12, 24):
            orders.compact(where="day < '2026-11-06'")
        if step == 35:
            orders.create_tag("before-sale")
    orders.update("day = '2026-11-12' AND id < 300", {"state": "'lost'"})
    clicks = catalog.new_table("shop.clicks", {"time": "TIMESTAMP", "url": "STRING"})
    clicks.append({"time": [dt.datetime(2026, 11, 12, 10)] * 500, "url": ["/"] * 500})
    catalog.new_table("shop.customers", {"id": "BIGINT", "name": "STRING"}, "id")


def main() -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Path(directory) / "lake"
        make(warehouse)
        command = [sys.executable, "-m", "paimon_spark", "ui", "lake"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=directory) as server:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            for name, (where, height) in VIEWS.items():
                picture = ROOT / "docs/assets" / f"page-{name}.png"
                flags = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--enable-unsafe-swiftshader"]
                flags += [f"--user-data-dir={directory}/profile", f"--window-size=1100,{height}"]
                flags += ["--virtual-time-budget=30000", f"--screenshot={picture}", f"{address}#{where}"]
                subprocess.run([browser, *flags], check=True, stderr=subprocess.DEVNULL)
                print(f"{picture.relative_to(ROOT)}: {picture.stat().st_size:,} bytes")
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
