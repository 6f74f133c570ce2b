"""Two sessions with the same tables: parquet tables of plain Spark, and Paimon tables of a catalog."""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import paimon_spark
from paimon_spark.errors import PaimonError
from paimon_spark.sql.parse import parse
from paimon_spark.sql.queries.query import Query, Use
from paimon_spark.sql.text.names import Names

_NAME = r"(?P<name>`[^`]+`|[\w.]+)"
_VIEW = re.compile(
    rf"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?P<is_global>GLOBAL\s+)?(?P<temporary>TEMP(?:ORARY)?\s+)?VIEW\s+"
    rf"(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}",
    re.IGNORECASE,
)
_TABLE = re.compile(rf"\s*CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}", re.IGNORECASE)
_CHANGE = re.compile(
    rf"\s*(?:INSERT\s+(?:INTO|OVERWRITE)(?:\s+TABLE)?|TRUNCATE\s+TABLE|ALTER\s+TABLE|DELETE\s+FROM|UPDATE)\s+{_NAME}",
    re.IGNORECASE,
)
_DROP = re.compile(rf"\s*DROP\s+(?:TABLE|VIEW)\s+(?:IF\s+EXISTS\s+)?{_NAME}", re.IGNORECASE)
_COMMENT = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*", re.DOTALL)
_QUERIES = ("SELECT", "WITH", "FROM", "TABLE", "VALUES", "(")
_SETTINGS = ("SET", "RESET", "DECLARE", "USE")
_WIDE_COLUMNS = (
    "unique1 INT, unique2 INT, two INT, four INT, ten INT, twenty INT, hundred INT, thousand INT, twothousand INT, "
    "fivethous INT, tenthous INT, odd INT, even INT, stringu1 STRING, stringu2 STRING, string4 STRING"
)
_TEST_FILES = {
    "aggtest": ("agg.data", "a INT, b FLOAT"),
    "onek": ("onek.data", _WIDE_COLUMNS),
    "tenk1": ("tenk.data", _WIDE_COLUMNS),
}
_TEST_QUERIES = {
    "testdata": "SELECT CAST(id AS INT) key, CAST(id AS STRING) value FROM range(1, 101)",
    "arraydata": (
        "VALUES (array(1, 2, 3), array(array(1, 2, 3))), (array(2, 3, 4), array(array(2, 3, 4))) "
        "AS t(arraycol, nestedarraycol)"
    ),
    "mapdata": (
        "VALUES (map(1, 'a1', 2, 'b1', 3, 'c1', 4, 'd1', 5, 'e1')), (map(1, 'a2', 2, 'b2', 3, 'c2', 4, 'd2')), "
        "(map(1, 'a3', 2, 'b3', 3, 'c3')), (map(1, 'a4', 2, 'b4')), (map(1, 'a5')) AS t(mapcol)"
    ),
}
"""The tables of Spark's own tests (Spark: SQLQueryTestSuite, createTestTables)."""


class Work(Enum):
    """What a statement is for."""

    QUERY = "query"
    SETTING = "setting"
    VIEW = "view"
    TABLE = "table"
    CHANGE = "change"
    DROP = "drop"
    OTHER = "other"


def work_of(text: str) -> Work:
    """What a statement is for, by its first words."""
    text = _without_comment(text)
    word = "(" if text.startswith("(") else re.split(r"\W", text, maxsplit=1)[0].upper()
    if word in _QUERIES:
        return Work.OTHER if word in ("WITH", "FROM") and re.search(r"\bINSERT\s+INTO\b", text, re.I) else Work.QUERY
    if word in _SETTINGS:
        return Work.SETTING
    patterns = {Work.VIEW: _VIEW, Work.TABLE: _TABLE, Work.CHANGE: _CHANGE, Work.DROP: _DROP}
    return next((work for work, pattern in patterns.items() if pattern.match(text)), Work.OTHER)


class TwoSides:
    """Two sessions.

    Attributes:
        plain: reads parquet tables.
        ours: the session of the catalog.
        cat: the catalog, whose current database has the same tables.
    """

    def __init__(self, spark: SparkSession, scratch: Path, database: str, test_data: Path) -> None:
        self.plain = spark.newSession()
        self.ours = spark.newSession()
        self.cat = paimon_spark.catalog(self.ours, str(scratch / "lake"))
        self._folder = scratch / database
        self._database = database
        self._test_data = test_data
        self._copies = 0
        self._tables: dict[str, str] = {}  # by their names in lower case
        self.cat.create_database(database)
        self.cat.use(database)
        self.plain.sql(f"CREATE DATABASE {database}")
        self.plain.sql(f"USE {database}")

    def close(self) -> None:
        """Drops the database of the plain side."""
        self.plain.sql("USE default")
        self.plain.sql(f"DROP DATABASE {self._database} CASCADE")

    def set(self, key: str, value: str) -> None:
        """Sets what a session has for its SQL, in both."""
        self.plain.conf.set(key, value)
        self.ours.conf.set(key, value)

    def make_test_tables(self, text: str) -> None:
        """Makes those tables of Spark's own tests that a text names."""
        words = {word.lower(): word for word in reversed(re.findall(r"\w+", text))}
        for name, (file, columns) in _TEST_FILES.items():
            if name in words:
                self._keep(words[name], self.plain.read.csv(str(self._test_data / file), columns, sep="\t"))
        for name, query in _TEST_QUERIES.items():
            if name in words:
                self._keep(words[name], self.plain.sql(query))

    def reads_tables(self, text: str) -> bool:
        """True if a query reads a Paimon table, as far as its text tells."""
        try:
            return any(use.name.table.lower() in self._tables for use in self._uses(text))
        except PaimonError:
            return True

    def sql(self, text: str) -> DataFrame:
        """Runs a statement on our side, where the names of tables are spelled as they were when they were made."""
        for use in reversed(self._uses(text)):
            spelled = self._tables.get(use.name.table.lower())
            if spelled not in (None, use.name.table) and text[use.start : use.end] == use.name.table:
                text = f"{text[: use.start]}{spelled}{text[use.end :]}"
        return self.cat.sql(text)

    def _uses(self, text: str) -> tuple[Use, ...]:
        found = parse(text, Names("paimon", self._database))
        return found.uses if isinstance(found, Query) else ()

    def prepare(self, work: Work, text: str) -> str:
        """Does what a statement says on both sides, and returns what is worth telling of it, or ""."""
        if work in (Work.SETTING, Work.OTHER):
            return self._on_both(text)
        text = _without_comment(text)
        pattern = {Work.VIEW: _VIEW, Work.TABLE: _TABLE, Work.CHANGE: _CHANGE, Work.DROP: _DROP}[work]
        found = pattern.match(text)
        assert found is not None
        name = found["name"].strip("`")
        if work is Work.VIEW:
            return self._view(text, name, found)
        if work is Work.DROP:
            return self._drop(text, name)
        if work is Work.TABLE:
            said = _refusal(self.plain.sql, text)
            return f"not made: {said}" if said else self._mirror(name)
        return self._change(text, name)

    def _on_both(self, text: str) -> str:
        expected, found = _refusal(self.plain.sql, text), _refusal(self.cat.sql, text)
        return "" if bool(expected) == bool(found) else f"prepares one side only; ours: {found}; Spark: {expected}"

    def _view(self, text: str, name: str, found: re.Match[str]) -> str:
        said = _refusal(self.plain.sql, text)
        if said:
            return f"not made: {said}"
        if found["is_global"]:
            return ""
        if found["temporary"]:
            try:
                frame = self.plain.table(found["name"])
                kept = self._keep(name, frame)
            except PySparkException as error:
                kept = f"no parquet: {str(error)[:150]}"
            if not kept:
                return ""
        else:
            kept = ""
            text = re.sub(r"(?i)\bVIEW\b(?:\s+IF\s+NOT\s+EXISTS)?", "TEMPORARY VIEW", text, count=1)
        self._forget(name)
        refused = _refusal(self.cat.sql, text)
        return f"a view on both sides: {kept or 'it is permanent'}{f', refused by ours: {refused}' if refused else ''}"

    def _keep(self, name: str, frame: DataFrame) -> str:
        """Makes a frame a parquet table and a Paimon table of a name; returns why not, or ""."""
        said = self._copy(name, frame)
        if not said:
            self.plain.read.parquet(self._copied).createOrReplaceTempView(name)
        return said

    def _mirror(self, name: str) -> str:
        """Makes the Paimon table equal to the table of the plain side."""
        return self._copy(name, self.plain.table(name)) if "." not in name else "it names a database"

    def _copy(self, name: str, frame: DataFrame) -> str:
        self._copies += 1
        self._copied = str(self._folder / f"{name}_{self._copies}.parquet")
        frame.coalesce(1).write.parquet(self._copied)
        self._forget(name)
        refused = _refusal(self.cat.sql, f"CREATE TABLE `{name}` AS SELECT * FROM parquet.`{self._copied}`")
        if not refused:
            self._tables[name.lower()] = name
        return refused

    def _forget(self, name: str) -> None:
        if name.lower() in self._tables:
            self.cat.sql(f"DROP TABLE `{self._tables.pop(name.lower())}`")
        self.ours.catalog.dropTempView(name)

    def _drop(self, text: str, name: str) -> str:
        self._forget(name)
        _refusal(self.plain.sql, text)
        self.plain.catalog.dropTempView(name)
        return ""

    def _change(self, text: str, name: str) -> str:
        expected = _refusal(self.plain.sql, text)
        if name.lower() not in self._tables:
            return ""
        found = _refusal(self.cat.sql, text)
        if bool(expected) == bool(found):
            return ""
        return self._mirror(name) or f"changes one side only, mended; ours: {found}; Spark: {expected}"


def _refusal(run: Callable[[str], DataFrame], text: str) -> str:
    try:
        run(text)
    except (PySparkException, PaimonError) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return ""


def _without_comment(text: str) -> str:
    found = _COMMENT.match(text)
    return text[found.end() :] if found else text
