"""Values of options that do not parse: one sentence says what is expected."""

from __future__ import annotations

import pytest

from paimon_spark.errors import OptionError
from paimon_spark.spec import options as o
from paimon_spark.spec.options import Option, Options

ALL = sorted((option for option in vars(o).values() if isinstance(option, Option)), key=lambda option: option.key)
NO_VALUES = ["abc", "", "-", "1.5.5", ":", "x:y", "1_", "nan", "9" * 5000]
"""The last is longer than any number that Python reads from text."""


@pytest.mark.parametrize("option", ALL, ids=lambda option: option.key)
def test_the_message_says_what_is_expected(option: Option[object]) -> None:
    for text in NO_VALUES:
        try:
            Options({option.key: text}).value(option)
        except OptionError as error:
            begin, _, expected = str(error).partition(f"'{text}': ")
            assert begin == f"option '{option.key}' has the value "
            assert expected.startswith("expected ")


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        (o.BUCKET, "abc", "expected a whole number such as 4"),
        (o.COMPACTION_DELETE_RATIO_THRESHOLD, "abc", "expected a number such as 0.7"),
        (o.TARGET_FILE_SIZE, "abc", "expected a memory size such as 128 mb"),
        (o.SNAPSHOT_TIME_RETAINED, "abc", "expected a duration such as 10 s"),
        (o.FILE_FORMAT_PER_LEVEL, "abc", "expected levels and words such as 0:avro,3:parquet"),
        (o.FILE_FORMAT_PER_LEVEL, "x:y", "expected levels and words such as 0:avro,3:parquet"),
    ],
)
def test_what_is_expected(option: Option[object], text: str, expected: str) -> None:
    with pytest.raises(OptionError, match=f"'{option.key}' has the value '{text}': {expected}"):
        Options({option.key: text}).value(option)
