"""Deleting files that no snapshot names and that nobody else knows of."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from paimon_spark.file_io import FileIO

_log = logging.getLogger(__name__)


def discard(file_io: FileIO, paths: Iterable[str]) -> None:
    """Deletes the files. One that cannot be deleted is an orphan, which harms nobody: it is logged."""
    for path in paths:
        try:
            file_io.delete(path)
        except OSError as error:
            _log.warning("left behind %s, which no snapshot names: %s", path, error)
