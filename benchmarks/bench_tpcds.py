"""The 99 queries of TPC-DS by ``spark.sql`` on a registered catalog; with ``PAIMON_LONG=1`` by ``cat.sql`` too.

DuckDB and its extension tpcds, which pip puts into the kept folder, make the rows and the texts; ``--scale 1`` is 1 GB.
Keys are those of the rules of TPC-DS, and have no NULLs: a surrogate key, or the item and the ticket or order of a sale
or return, or the date, item and warehouse of an inventory. ``tpcds_rows.py`` says what is changed in the texts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from measure import Results
from suites import Suite, make_tables, run_suite

KEYS = {
    "store_sales": ("ss_item_sk,ss_ticket_number", 4),
    "catalog_sales": ("cs_item_sk,cs_order_number", 4),
    "web_sales": ("ws_item_sk,ws_order_number", 2),
    "inventory": ("inv_date_sk,inv_item_sk,inv_warehouse_sk", 4),
    "store_returns": ("sr_item_sk,sr_ticket_number", 1),
    "catalog_returns": ("cr_item_sk,cr_order_number", 1),
    "web_returns": ("wr_item_sk,wr_order_number", 1),
    "call_center": ("cc_call_center_sk", 1),
    "catalog_page": ("cp_catalog_page_sk", 1),
    "customer": ("c_customer_sk", 1),
    "customer_address": ("ca_address_sk", 1),
    "customer_demographics": ("cd_demo_sk", 2),
    "date_dim": ("d_date_sk", 1),
    "household_demographics": ("hd_demo_sk", 1),
    "income_band": ("ib_income_band_sk", 1),
    "item": ("i_item_sk", 1),
    "promotion": ("p_promo_sk", 1),
    "reason": ("r_reason_sk", 1),
    "ship_mode": ("sm_ship_mode_sk", 1),
    "store": ("s_store_sk", 1),
    "time_dim": ("t_time_sk", 1),
    "warehouse": ("w_warehouse_sk", 1),
    "web_page": ("wp_web_page_sk", 1),
    "web_site": ("web_site_sk", 1),
}
BARS: dict[str, tuple[float | None, float | None]] = {
    "spark.sql append": (1.05, None),
    "spark.sql upserted": (None, 0.6),
}
OF_CAT: dict[str, tuple[float | None, float | None]] = {"cat.sql upserted": (None, 0.6)}
PACKAGE = "duckdb-extension-tpcds"  # it names the release of DuckDB that it is for, which need not be the one of tests


def install(folder: Path) -> bool:
    """Puts the package and its DuckDB into a folder, once. False: pip could not."""
    if folder.exists():
        return True
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(folder), PACKAGE]
    return subprocess.run(command, check=False).returncode == 0


def generate(warehouse: Path, scale: float, packages: Path) -> None:
    command = [sys.executable, str(Path(__file__).with_name("tpcds_rows.py")), str(warehouse), f"{scale:g}"]
    found = os.pathsep.join([str(packages), os.environ.get("PYTHONPATH", "")])
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": found})


def run(results: Results, root: Path, scale: float) -> None:
    packages, warehouse = root / "duckdb-tpcds", root / f"tpcds-{scale:g}"
    if not install(packages):
        print(f"tpcds: left out, for it needs {PACKAGE}, which pip could not install", flush=True)
        return
    suite = Suite("tpcds", "TPC-DS", KEYS, BARS | (OF_CAT if os.environ.get("PAIMON_LONG") == "1" else {}))
    make_tables(suite, warehouse, lambda: generate(warehouse, scale, packages))
    run_suite(results, suite, warehouse)
