"""What follows the write of a batch: full compactions are counted in batches of a stream."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tables.expiring import new_table

from paimon_spark.store.stream_sink.batch import Batch, batch_rules
from paimon_spark.store.upkeep.write_rules import AS_OPTIONS_SAY


@pytest.mark.parametrize(("options", "full"), [({"full-compaction.delta-commits": "3"}, {2, 5}), ({}, set())])
def test_a_full_compaction_follows_each_nth_batch_of_a_stream(
    tmp_path: Path, options: dict[str, str], full: set[int]
) -> None:
    table = new_table(tmp_path / "t", options)
    rules = [batch_rules(table, Batch("stream", number), 7) for number in range(7)]
    assert {number for number, rule in enumerate(rules) if rule.full} == full
    assert {rule.budget for rule in rules} == {7}
    named = [batch_rules(table, Batch("app", number, named=True), 7) for number in range(7)]
    assert named == [AS_OPTIONS_SAY] * 7
