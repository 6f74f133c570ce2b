"""Lines of a file, whatever pieces it is read in, and values of lines whatever road they take; Java's values are in
tests/interop/test_text_format_tables_of_java.py.
"""

from __future__ import annotations

import io
import re

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from paimon_spark.arrow.text_files.csv_lines import csv_rows
from paimon_spark.arrow.text_files.lines import lines_of
from paimon_spark.format.options.text_file_settings import CsvSettings
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataField

FIELDS = tuple(DataField(number, name, parse_type("STRING")) for number, name in enumerate("abc"))


@given(st.text("a\r\nä", max_size=30), st.integers(1, 9), st.booleans())
def test_lines_are_the_same_in_blocks_of_any_size(text: str, size: int, is_marked: bool) -> None:
    data = (b"\xef\xbb\xbf" if is_marked and size > 2 else b"") + text.encode()
    found = [line for block in lines_of(io.BytesIO(data), "x", "\n", size) for line in block.to_pylist()]
    wanted = re.split("\r\n|\r|\n", text)
    assert found == (wanted if wanted[-1] else wanted[:-1])


@given(st.text("ab|&", max_size=30), st.integers(1, 9), st.sampled_from(["|", "||", "|&", "&&|"]))
def test_lines_with_ends_of_their_own(text: str, size: int, end: str) -> None:
    found = [line for block in lines_of(io.BytesIO(text.encode()), "x", end, size) for line in block.to_pylist()]
    wanted = text.split(end)
    assert found == (wanted if wanted[-1] else wanted[:-1])


LINE = st.one_of(
    st.text(',"\\ aé😀\r\n\0', max_size=12),
    st.lists(st.sampled_from(["", "a", '"b"', '"a,""b"', '"\\""', '"\\\\"', " ", '""']), max_size=4).map(",".join),
)


@given(st.lists(LINE, max_size=9))
def test_values_of_csv_do_not_depend_on_the_lines_beside_them(lines: list[str]) -> None:
    """One line of unusual form makes the lines of its block take other roads."""
    settings = CsvSettings({})
    together = csv_rows(pa.array(lines, pa.string()), FIELDS, 3, settings, "x").to_pylist()
    odd = csv_rows(pa.array([*lines, 'a"b"', '"'], pa.string()), FIELDS, 3, settings, "x").to_pylist()
    alone = [csv_rows(pa.array([line]), FIELDS, 3, settings, "x").to_pylist()[0] for line in lines]
    plain = CsvSettings({"csv.quote-character": "\0"})
    assert together == alone == odd[:-2]
    assert len(csv_rows(pa.array(lines, pa.string()), FIELDS, 3, plain, "x")) == len(lines)
