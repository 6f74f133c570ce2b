"""The catalogue of options against the options that Java declares, and old options that Java passes over."""

from __future__ import annotations

from pathlib import Path

import java_options
import pytest
from genuine import Genuine, table_path

from paimon_spark import open_table
from paimon_spark.format.options.catalogue import IMMUTABLE_OPTIONS, catalogued, known_key

pytestmark = pytest.mark.interop


@pytest.mark.parametrize("release", ["java", "older_java"])
def test_every_option_of_java_is_in_the_catalogue(release: str, request: pytest.FixtureRequest) -> None:
    java: Genuine = request.getfixturevalue(release)
    keys = java.run(java_options.keys)
    assert len(keys) > 280
    assert {key for key in keys if known_key(key) != key or catalogued(key) is None} == set()
    assert java.run(java_options.immutable_keys) - IMMUTABLE_OPTIONS == set()


def test_old_options_are_read_as_java_reads_them(java: Genuine, tmp_path: Path) -> None:
    """Before 1.3 a default value filled nulls when they were read; `sequence.auto-padding` was gone in 0.8."""
    path = table_path(tmp_path)
    options = {"bucket": "1", "fields.v.default-value": "7", "sequence.auto-padding": "row-kind-flag"}
    options |= {"record-level.time-field-type": "millis-long", "branch-merge.enabled": "true", "sequence.field": "s"}
    java.create(path, {"k": "INT NOT NULL", "v": "INT", "s": "INT"}, keys=["k"], options=options)
    java.write(path, [(1, None, 5), (2, 3, None)])
    java.write(path, [(1, 9, 4), (2, None, None)])
    expected = sorted(tuple(row) for _, row in java.read(path))
    found = open_table(path).scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in found) == expected
