"""The small files ``_SUCCESS`` that announce completion to other systems (Java: SuccessFile)."""

from __future__ import annotations

import time

from paimon_spark.file_io import FileIO
from paimon_spark.format.json_text import format_json, parse_json_object
from paimon_spark.store.storage.listing import find_bytes

SUCCESS = "_SUCCESS"


def touch_success_file(file_io: FileIO, path: str) -> None:
    """Writes the file with the current time; an existing file keeps its creation time.

    Raises:
        CorruptFile: the existing file is not a success file.
        StorageError: the storage failed.
    """
    now = time.time_ns() // 1_000_000
    data = find_bytes(file_io, path)
    created = now if data is None else parse_json_object(data, path).integer("creationTime")
    file_io.overwrite(path, format_json({"creationTime": created, "modificationTime": now}).encode())
