"""What PaimonTable does with its schema: columns and options."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import ParseException
from pyspark.sql import SparkSession
from pyspark.sql import types as st

from paimon_spark.errors import SchemaError
from paimon_spark.format.type_text import parse_type
from paimon_spark.format.types import DataType
from paimon_spark.spark.adapters.session_options import is_case_sensitive
from paimon_spark.spark.adapters.types import paimon_field
from paimon_spark.store.evolution.alter import AlterResult, alter
from paimon_spark.store.evolution.changes import SchemaChange
from paimon_spark.store.evolution.schema_update import SchemaUpdate, option_changes, unset_changes
from paimon_spark.store.open import ReadableTable

_OF_SPARK = re.compile(r"\bSTRUCT\s*<|\bTIMESTAMP_NTZ\b", re.IGNORECASE)
_NOT_NULL = re.compile(r"\s+NOT\s+NULL\s*$", re.IGNORECASE)


class SchemaMethods(ABC):
    """Changes of a table's columns, comments and options: each gives one new schema. Rows stay as they are."""

    _spark: SparkSession

    @abstractmethod
    def _open(self) -> ReadableTable: ...

    @contextmanager
    def update_schema(self, dry_run: bool = False) -> Iterator[SchemaUpdate]:
        """Changes columns, comments and options: all of them at the end of the block, or none if it raises.

        Columns are found in any letter case, unless ``spark.sql.caseSensitive`` is set. A type is a Spark type, or a
        Paimon type as text, as for ``create().addColumn``. The ``result`` of the update is there after the block.

        Args:
            dry_run: True only says, in ``result.difference``, what would be different.

        Raises:
            SchemaError, OptionError, UnsupportedFeature: a change does not fit; nothing was changed.
            CommitConflict: another job has changed the schema concurrently, so that the changes do not fit any more.
        """
        update = SchemaUpdate(read_type)
        yield update
        update.result = self._alter(update.changes, dry_run)

    def set_options(self, options: Mapping[str, str], dry_run: bool = False) -> AlterResult:
        """Stores table options, for all readers and writers from now on.

        Args:
            options: "comment" among them is the comment of the table.
            dry_run: True changes nothing.

        Raises:
            OptionError: an option is unknown, has a bad value, or cannot change any more; the message says what to do.
            UnsupportedFeature: this release could not write to such a table.
        """
        return self._alter(option_changes(options), dry_run)

    def unset_options(self, *keys: str, dry_run: bool = False) -> AlterResult:
        """Removes table options, which then have their default; one that is not set is no error.

        Raises:
            OptionError: an option cannot change any more.
        """
        return self._alter(unset_changes(keys), dry_run)

    def _alter(self, changes: tuple[SchemaChange, ...], dry_run: bool) -> AlterResult:
        return alter(self._open(), changes, is_case_sensitive(self._spark), dry_run)


def read_type(given: str | st.DataType) -> DataType:
    """The type that a caller names: a Spark type, a text of Paimon, or one of Spark's SQL, known by its own words.

    Raises:
        SchemaError, UnsupportedFeature: the type cannot be understood or stored.
    """
    if isinstance(given, st.DataType):
        return paimon_field(st.StructField("column", given)).type
    if _OF_SPARK.search(given) is None:
        return parse_type(given)
    text = _NOT_NULL.sub("", given)
    try:
        found = st.DataType.fromDDL(text)
    except ParseException:
        raise SchemaError(
            f"cannot read the type '{given}': its words are of Spark's SQL, which has STRUCT<a: INT, b: CHAR(4)>; in "
            "Paimon's words that is ROW<a INT, b CHAR(4)>"
        ) from None
    return paimon_field(st.StructField("column", found, text == given)).type
