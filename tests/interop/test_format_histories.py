"""Format tables that this release and Java 2.0.0 write in turn have the same rows for both, after every write.

``PAIMON_FORMAT_HISTORIES=40`` tries so many of each format; the number of a test is a seed.
"""

from __future__ import annotations

from typing import Any, cast

import pytest
from format_histories import FORMATS, Sides, new_history
from genuine import Genuine
from java_object_tables import make_format_table
from java_rest_server import JavaRestServer
from support.long_runs import tries

from paimon_spark import open_catalog
from paimon_spark.store.file_tables.format_table import FormatTable

pytestmark = pytest.mark.interop
_STEPS = 5


@pytest.mark.parametrize("seed", range(tries("PAIMON_FORMAT_HISTORIES", 2, 40)))
@pytest.mark.parametrize("file_format", FORMATS)
def test_writes_of_both(java: Genuine, server: JavaRestServer, file_format: str, seed: int) -> None:
    catalog = open_catalog(server.options)
    sides = Sides(java, server.options, lambda name: cast(FormatTable, catalog.table(f"d.{name}")))
    history, name = new_history(seed, file_format), f"h_{file_format}_{seed}"
    columns: dict[str, Any] = dict(history.columns)
    java.run(make_format_table, server.options, "d", name, columns, history.keys, history.options)
    done = [f"{history.columns} {history.keys} {history.options}"]
    for _ in range(_STEPS):
        done.append(sides.step(history, name))
        try:
            sides.check(history, name)
        except AssertionError as error:
            raise AssertionError("\n".join([*done, str(error)])) from error
