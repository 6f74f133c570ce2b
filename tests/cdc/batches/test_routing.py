"""Which tables of a source are taken, and what they are called."""

from __future__ import annotations

import pytest

from paimon_spark.cdc.batches.routing import TableNames
from paimon_spark.errors import OptionError


def test_tables_are_chosen_by_their_whole_names() -> None:
    names = TableNames(including="order.*|items", excluding="orders_old", including_databases="shop[0-9]*")
    taken = [table for table in ("orders", "orders_old", "items", "items2", "users") if names.takes("shop1", table)]
    assert taken == ["orders", "items"]
    assert not names.takes("archive", "orders")
    assert not TableNames(excluding_databases="sys").takes("sys", "orders")


def test_names_of_targets() -> None:
    plain = TableNames(prefix="ods_", suffix="_cdc", mapping={"Legacy": "old"})
    assert [plain.target("shop", name) for name in ("Orders", "legacy")] == ["ods_Orders_cdc", "old"]
    lower = TableNames(prefix="ODS_", mapping={"x": "New"}, case_sensitive=False)
    assert [lower.target("Shop", name) for name in ("Orders", "X")] == ["ODS_orders", "new"]
    assert TableNames(merge_shards=False).target("shop1", "orders") == "shop1_orders"


def test_a_pattern_that_is_none_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'\(' is no regular expression"):
        TableNames(including="(")
