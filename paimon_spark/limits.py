"""How large metadata may be, and become when they are unpacked: what a hostile table can make us use.

Each limit is far above what writers make, so that a table that meets one is damaged, or made to fill the memory. A
table that really is that large: PAIMON_METADATA_LIMITS=4 in the environment of all processes that read it (driver and
executors) makes every limit four times as large.

May import: ``errors``.
"""

from __future__ import annotations

import os

from paimon_spark.errors import OptionError

VARIABLE = "PAIMON_METADATA_LIMITS"


def _factor(text: str | None) -> int:
    if text is None:
        return 1
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:5]) <= 1000):
        raise OptionError(f"the environment variable {VARIABLE} is '{text}'; give a whole number from 1 to 1000")
    return int(text[:5])


_FACTOR = _factor(os.environ.get(VARIABLE))

MAX_FILE_BYTES = 2**30 * _FACTOR
"""Of a file that is read whole: metadata, hashes, deletion vectors. Writers start a new manifest at 8 MB."""

MAX_JSON_BYTES = 2**26 * _FACTOR
"""Of a schema, snapshot, tag. One of 10,000 columns takes some 2 MB."""
MAX_JSON_VALUES = 2**21 * _FACTOR
"""Commas and brackets of such a file: each may become a Python object of a hundred bytes."""
MAX_JSON_DEPTH = 300
"""Three levels for each level of a nested column. Deeper, reading it would need more stack than a thread has."""

MAX_UNPACKED_BYTES = 2**30 * _FACTOR
"""Of the Avro files that are decoded together, unless they are compressed by less than MAX_RATIO."""
MAX_RATIO = 100
"""Unpacked to stored bytes. zstd makes genuine manifests some 5 to 20 times smaller, zeros 10,000 times."""
MAX_RECORDS = 2**20 * _FACTOR
"""Of the Avro files that are decoded together, unless each takes LEAST_RECORD_BYTES as it is stored."""
LEAST_RECORD_BYTES = 4
"""A manifest entry takes some 30 as it is stored: there is a UUID in it."""
MAX_BLOCKS = 2**17 * _FACTOR
"""Of the Avro files that are decoded together, unless each takes LEAST_BLOCK_BYTES. Writers fill 16 to 64 kB first."""
LEAST_BLOCK_BYTES = 256
MAX_ITEMS = 2**21 * _FACTOR
"""Of all arrays in a file that is decoded record by record, such as the deletion vectors of an index manifest."""
MAX_OBJECT_BYTES = 2**31 * _FACTOR
"""Of Python objects that one block may become, at worst, when it is decoded record by record."""

MAX_DELETED_ROWS = 2**27 * _FACTOR
"""Of one deletion vector, that is, of one data file: a bitmap of some kB can name billions of rows."""

MAX_ROW_IDS = 2**36 * _FACTOR
"""Of the rows that indexes of the whole table are asked for: sets of ids take memory, however few bytes name them."""

ADVICE = f"if the table really is that large, set {VARIABLE}=4 in the environment of driver and executors"
