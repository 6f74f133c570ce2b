"""Deletes files that no snapshot names and no other process uses."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from paimon_spark.file_io import FileIO

_log = logging.getLogger(__name__)


def discard(file_io: FileIO, paths: Iterable[str]) -> None:
    """Deletes the files, in bulk if possible. A file that cannot be deleted is logged, and is a harmless orphan."""
    given = list(paths)
    try:
        file_io.delete_many(given)
        return
    except OSError as error:
        _log.debug("deleting %d files one by one after: %s", len(given), error)
    for path in given:
        try:
            file_io.delete(path)
        except OSError as error:
            _log.warning("left behind %s, which no snapshot names: %s", path, error)
