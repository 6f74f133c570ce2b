"""Files numbered by their name (``schema-3``, ``snapshot-17``), the hints that point at the newest and the oldest.

Format section 1, "Hints"; Java: FileUtils.listVersionedFiles, HintFileUtils.
"""

from __future__ import annotations

from paimon_spark.file_io import FileIO


def list_ids(file_io: FileIO, directory: str, prefix: str) -> list[int]:
    """The numbers of the files ``<prefix><number>`` in the directory, ascending. A missing directory has none."""
    ids = []
    for status in file_io.list(directory):
        number = status.name.removeprefix(prefix)
        if number != status.name and number.isascii() and number.isdigit():
            ids.append(int(number))
    return sorted(ids)


def read_hint(file_io: FileIO, path: str) -> int | None:
    """The number in a hint file; None when the hint is absent or being rewritten. A hint is never the truth."""
    try:
        text = file_io.read_bytes(path).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    return int(text) if text.isascii() and text.isdigit() else None


def find_bytes(file_io: FileIO, path: str) -> bytes | None:
    """What a file holds; None when there is none."""
    try:
        return file_io.read_bytes(path)
    except FileNotFoundError:
        return None
