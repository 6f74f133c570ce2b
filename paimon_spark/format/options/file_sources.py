"""Options of Spark's file sources, which people try on a table, each with what to do instead."""

from __future__ import annotations

_OWN_SCHEMA = "a table knows its columns and their types; leave it out"
_OWN_FILES = "a table knows its files; leave it out, and choose rows with where() or the option 'filter'"
_NO_TEXTS = "a table has no files of text; leave it out"
_FILE_SOURCES = {
    "inferSchema": _OWN_SCHEMA,
    "samplingRatio": _OWN_SCHEMA,
    "basePath": "a table knows its partition columns; leave it out",
    "recursiveFileLookup": _OWN_FILES,
    "pathGlobFilter": _OWN_FILES,
    "modifiedBefore": _OWN_FILES,
    "modifiedAfter": _OWN_FILES,
    "ignoreMissingFiles": "'scan.ignore-lost-files' = 'true' leaves out files that are lost",
    "ignoreCorruptFiles": "'scan.ignore-corrupt-files' = 'true' leaves out files that cannot be read",
    "compression": "'file.compression' of a table is zstd, snappy, lz4, ...",
    **dict.fromkeys(
        ("header", "sep", "delimiter", "quote", "escape", "encoding", "lineSep", "multiLine", "nullValue", "dateFormat",
         "timestampFormat"), _NO_TEXTS
    ),
}  # fmt: skip


def file_source_advice(key: str) -> str | None:
    """What to say to an option of Spark's file sources in a read or a write; None: it is none.

    A table may store it: it is a plain word, which a user may take for a label.
    """
    name = next((name for name in _FILE_SOURCES if name.lower() == key.lower()), None)
    return None if name is None else f"the option '{name}' is one of Spark's file sources: {_FILE_SOURCES[name]}"
