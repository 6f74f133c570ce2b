"""Hints that a full disk or a crash has cut off: genuine Java and this package read and write past them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import our_engine
import pytest
from genuine import Genuine, table_path
from readers import java_read
from support.oracles.checker import check_table

from paimon_spark.tables.open import open_table

pytestmark = pytest.mark.interop


def test_hints_that_were_cut_off(java: Genuine, tmp_path: Path) -> None:
    path = table_path(tmp_path)
    java.create(path, {"k": "INT NOT NULL", "v": "STRING"}, ["k"], [], {"bucket": "1"})
    java.write(path, [(0, "first")])
    rows = {0: "first"}
    for number, hint in enumerate([b"", b"\0\0", b"1", b"1x"], 1):
        for name in ("LATEST", "EARLIEST"):
            Path(path, "snapshot", name).write_bytes(hint)
        assert java_read(java, path, {}) == our_engine.read(path, {}) == Counter(rows.items())
        if number % 2:
            java.write(path, [(number, "java")])
        else:
            open_table(path).append([{"k": number, "v": "here"}])
        rows[number] = "java" if number % 2 else "here"
        check_table(path)
    assert java_read(java, path, {}) == our_engine.read(path, {}) == Counter(rows.items())
