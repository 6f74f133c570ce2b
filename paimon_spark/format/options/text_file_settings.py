"""The options of files of lines: csv, json and text (Java: CsvOptions, JsonOptions, TextOptions of release 2.0.0).

Only format tables have such files. The older names are those of other systems, which Java takes too.
"""

from __future__ import annotations

from typing import Final

from paimon_spark.format.options.option import Option, Settings, boolean, choice


def _character(text: str) -> str:
    """The first character: Java's reader takes no more of it."""
    if not text or ord(text[0]) > 0xFFFF:
        raise ValueError("expected a character")
    return text[0]


def _line_end(text: str) -> str:
    """A text between two lines. One that begins again within itself is found in other places by Java's reader."""
    if not text or text[0] in text[1:-1]:
        raise ValueError("expected a text that does not begin again within itself")
    return text


def _end_of_lines(file_format: str, *older: str) -> Option[str]:
    meaning = "What ends a line. For a line feed, and a carriage return, any of both ends one."
    return Option(f"{file_format}.line-delimiter", "\n", _line_end, meaning, older)


class TextSettings(Settings):
    """The options of files of the format `text`."""

    line_delimiter: Final = _end_of_lines("text", "lineSep")


class JsonSettings(Settings):
    """The options of files with a JSON object in each line."""

    line_delimiter: Final = _end_of_lines("json")
    ignore_errors: Final = boolean(
        "json.ignore-parse-errors", False, "`true` reads a wrong value as NULL, and passes over a line without object."
    )


class CsvSettings(Settings):
    """The options of files with values between delimiters."""

    field_delimiter: Final = Option(
        "csv.field-delimiter", ",", _character, "What stands between two values.", ("field-delimiter", "seq")
    )
    line_delimiter: Final = _end_of_lines("csv", "lineSep")
    quote: Final = Option("csv.quote-character", '"', _character, "What stands around a value.", ("quote",))
    escape: Final = Option(
        "csv.escape-character", "\\", _character, "What stands before a quote in a value.", ("escape",)
    )
    header: Final = boolean(
        "csv.include-header", False, "The first line of a file names the columns.", older=("header",)
    )
    null_literal: Final = Option("csv.null-literal", "", str, "The text that is NULL.", ("nullvalue",))
    mode: Final = choice(
        "csv.mode",
        ("permissive", "dropmalformed", "failfast"),
        "What a value that is not of its column does: it and those behind it are NULL, the row is left out, or an "
        "error.",
        older=("mode",),
    )
