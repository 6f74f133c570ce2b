"""Settings ``spark.paimon.*`` of a session, and which table they hold for."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from paimon_spark.errors import OptionError
from paimon_spark.spark.adapters.session_options import chosen_options, settings_below

CASES = {
    "for all tables": ({"spark.paimon.scan.snapshot-id": "1"}, {"scan.snapshot-id": "1"}),
    "for one table": ({"spark.paimon.paimon.shop.orders.scan.snapshot-id": "2"}, {"scan.snapshot-id": "2"}),
    "with stars": ({"spark.paimon.*.*.orders.scan.tag-name": "t"}, {"scan.tag-name": "t"}),
    "all stars": ({"spark.paimon.*.*.*.write-only": "true"}, {"write-only": "true"}),
    "of another table": ({"spark.paimon.paimon.shop.other.scan.snapshot-id": "2"}, {}),
    "of another catalog": ({"spark.paimon.lake.shop.orders.scan.snapshot-id": "2"}, {}),
    "one table comes before all": (
        {"spark.paimon.paimon.shop.orders.scan.snapshot-id": "2", "spark.paimon.scan.snapshot-id": "1"},
        {"scan.snapshot-id": "2"},
    ),
    "a key with many points is no table": (
        {"spark.paimon.dynamic-bucket.target-row-num": "5", "spark.paimon.read.batch-size": "7"},
        {"dynamic-bucket.target-row-num": "5", "read.batch-size": "7"},
    ),
    "without effect": ({"spark.paimon.requiredSparkConfsCheck.enabled": "false"}, {}),
    "none": ({}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_settings_hold_for_the_tables_that_they_name(name: str) -> None:
    confs, expected = CASES[name]
    assert chosen_options(confs, "paimon", "shop", "orders").table == expected


def test_a_table_by_its_path_has_no_names() -> None:
    confs = {"spark.paimon.paimon.shop.orders.scan.snapshot-id": "2", "spark.paimon.*.*.*.scan.snapshot-id": "3"}
    assert chosen_options(confs).table == {"scan.snapshot-id": "3"}


def test_an_unknown_option_is_reported_with_its_whole_name() -> None:
    told = r"sets 'spark\.paimon\.scan\.snapshotid': .* did you mean 'scan\.snapshot-id'"
    with pytest.raises(OptionError, match=told):
        chosen_options({"spark.paimon.scan.snapshotid": "1"}, "paimon", "shop", "orders")
    assert chosen_options({"spark.paimon.write.merge-schema": "true"}).table == {"write.merge-schema": "true"}


def test_switches() -> None:
    said = chosen_options({"spark.paimon.read.changelog": "true", "spark.paimon.read.allow.fullScan": "FALSE"})
    assert (said.read_changelog, said.allow_full_scan, dict(said.table)) == (True, False, {})
    with pytest.raises(OptionError, match=r"'spark\.paimon\.read\.changelog' to 'maybe'"):
        chosen_options({"spark.paimon.read.changelog": "maybe"})


def test_reads_and_writes_pass_over_settings_of_the_other() -> None:
    settings = {
        "scan.snapshot-id": "1",
        "read.native": "false",
        "read.stream.maxFilesPerTrigger": "5",
        "write.merge-schema": "true",
        "write-only": "true",
    }
    said = chosen_options({f"spark.paimon.{key}": value for key, value in settings.items()})
    assert said.of_writes == {"write.merge-schema": "true", "write-only": "true"}
    assert said.of_reads == {"scan.snapshot-id": "1", "read.native": "false", "write-only": "true"}
    assert said.without_state().of_reads == {"read.native": "false", "write-only": "true"}


@pytest.mark.spark
def test_the_settings_that_begin_with_a_prefix(spark: SparkSession) -> None:
    """A setting of a session, one that names another in its value, one that is set again and none."""
    prefix = "spark.odd."
    assert settings_below(spark, prefix) == {}
    values = {"spark.odd.a": "1, spark.odd.b=2", "spark.odd.ä": "", "spark.other": prefix}
    try:
        for key, value in values.items():
            spark.conf.set(key, value)
        assert settings_below(spark, prefix) == {"spark.odd.a": "1, spark.odd.b=2", "spark.odd.ä": ""}
        assert settings_below(spark, "spark.odd.b") == {}
    finally:
        for key in values:
            spark.conf.unset(key)
    assert settings_below(spark, prefix) == {}
