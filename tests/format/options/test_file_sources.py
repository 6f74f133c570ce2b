"""Options of Spark's file sources: a read or a write answers them, and a table may have a label of that name."""

from __future__ import annotations

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.store.metadata.table_options import resolve_keys, resolve_properties


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("inferSchema", "leave it out"),
        ("header", "leave it out"),
        ("basePath", "partition columns; leave it out"),
        ("recursiveFileLookup", r"choose rows with where\(\)"),
        ("pathGlobFilter", r"choose rows with where\(\)"),
        ("ignoreMissingFiles", "'scan.ignore-lost-files' = 'true'"),
    ],
)
def test_a_read_says_what_to_do_instead(key: str, advice: str) -> None:
    for spelled in (key, key.lower()):
        with pytest.raises(OptionError, match=rf"^the option '{key}' is one of Spark's file sources: .*{advice}"):
            resolve_keys({spelled: "true"}, ["id"])


def test_a_table_may_have_a_label_of_that_name() -> None:
    assert resolve_properties({"header": "of the report"}, ["id"]) == {"header": "of the report"}
