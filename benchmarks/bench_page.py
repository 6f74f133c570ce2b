"""``paimon-spark ui`` over a table of 100,000 files, in a real browser: from the address to the picture."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench_plan import table_of_files
from measure import Results

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
GOALS = {"files": 2.0, "overview": 2.0, "partitions": 2.0, "compaction": 4.0}
ROUNDS = 5


def run(results: Results, root: Path, scale: float) -> None:
    if BROWSER is None or find_spec("playwright") is None:
        print("page: left out; it needs Chromium (apt-get install chromium) and playwright (pip install playwright)")
        return
    files = max(1000, int(100_000 * scale))
    table = table_of_files(root / "bench.db", files)
    command = [sys.executable, "-m", "paimon_spark", "ui", table.location]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            best = _best(server.stdout.readline().strip(), Path(table.location).name)
        finally:
            server.terminate()
    for view, goal in GOALS.items():
        first, seconds = best[view]
        note = f"the first of a browser: {first:.2f} s"
        results.lower(f"page, {view} of a table of {files:,} files", seconds, "s", goal, note)


def _best(address: str, name: str) -> dict[str, tuple[float, float]]:
    """Seconds of the first and of the best look at each view, until all of it is drawn."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        options = ["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        browser = driver.chromium.launch(executable_path=BROWSER, args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        taken = {view: [_seconds(page, f"{address}#{name}/{view}") for _ in range(ROUNDS)] for view in GOALS}
        browser.close()
    return {view: (seconds[0], min(seconds)) for view, seconds in taken.items()}


def _seconds(page: Any, address: str) -> float:
    page.goto("about:blank")
    began = time.perf_counter()
    page.goto(address)
    page.wait_for_selector('main[aria-busy="false"]')
    page.evaluate(_DRAWN)
    assert page.query_selector(".js-plotly-plot, table"), page.inner_text("main")
    return time.perf_counter() - began
