"""FILE_FORMAT = (...) of COPY INTO: its options, in the words of Spark's readers and writers (Java: CopyFileFormat)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from paimon_spark.errors import SqlError
from paimon_spark.sql.text.literals import Value

CSV, JSON, PARQUET = "CSV", "JSON", "PARQUET"
_TEXT_IMPORT = ("NULL_IF", "EMPTY_FIELD_AS_NULL", "COMPRESSION")
_CSV_BOTH = {"FIELD_DELIMITER": "sep", "QUOTE": "quote", "ESCAPE": "escape", "COMPRESSION": "compression"}
_READER: Mapping[str, Mapping[str, str]] = {
    CSV: {**_CSV_BOTH, "SKIP_HEADER": "header"},
    JSON: {"MULTI_LINE": "multiLine", "COMPRESSION": "compression"},
    PARQUET: {"COMPRESSION": "compression"},
}
_WRITER: Mapping[str, Mapping[str, str]] = {
    CSV: {**_CSV_BOTH, "HEADER": "header"},
    JSON: {"DATE_FORMAT": "dateFormat", "TIMESTAMP_FORMAT": "timestampFormat", "COMPRESSION": "compression"},
    PARQUET: {"COMPRESSION": "compression"},
}
_SWITCHES = frozenset({"MULTI_LINE", "HEADER", "EMPTY_FIELD_AS_NULL"})


@dataclass(frozen=True)
class FileFormat:
    """A format with its options.

    Attributes:
        kind: CSV, JSON or PARQUET.
        options: of Spark's reader or writer.
        null_texts: texts that mean NULL, in files of text.
    """

    kind: str
    options: Mapping[str, str]
    null_texts: tuple[str, ...] = ()


def import_format(kind: str, given: Mapping[str, Value]) -> FileFormat:
    """The format of files that are read.

    Raises:
        SqlError: an option is not known for the format, or has a bad value.
    """
    known = _READER[kind]
    _check(kind, "import", given, (*known, *(() if kind == PARQUET else _TEXT_IMPORT)))
    options = {known[key]: _text(key, value) for key, value in given.items() if key in known}
    if "header" in options:
        options["header"] = _skip_header(options["header"])
    null_if = given.get("NULL_IF", ())
    nulls = tuple(map(str, null_if)) if isinstance(null_if, tuple) else (str(null_if),)
    if _text("EMPTY_FIELD_AS_NULL", given.get("EMPTY_FIELD_AS_NULL", False)) == "true":
        nulls = (*nulls, "")
    return FileFormat(kind, options, nulls)


def export_format(kind: str, given: Mapping[str, Value]) -> FileFormat:
    """The format of files that are written.

    Raises:
        SqlError: an option is not known for the format, or has a bad value.
    """
    known = _WRITER[kind]
    _check(kind, "export", given, tuple(known))
    return FileFormat(kind, {known[key]: _text(key, value) for key, value in given.items()})


def _check(kind: str, direction: str, given: Mapping[str, Value], known: tuple[str, ...]) -> None:
    unknown = [key for key in given if key not in known]
    if unknown:
        raise SqlError(
            f"COPY INTO: FILE_FORMAT has {', '.join(unknown)}, which an {direction} of {kind} does not know; it knows "
            f"TYPE, {', '.join(dict.fromkeys(known))}"
        )


def _text(key: str, value: Value) -> str:
    text = str(value)
    if key not in _SWITCHES:
        return text
    if text.lower() not in ("true", "false"):
        raise SqlError(f"COPY INTO: {key} = {text} in FILE_FORMAT: it is TRUE or FALSE")
    return text.lower()


def _skip_header(text: str) -> str:
    if text not in ("0", "1"):
        raise SqlError(f"COPY INTO: SKIP_HEADER = {text} in FILE_FORMAT: it is 0 or 1")
    return "true" if text == "1" else "false"
