"""Checks HASH indexes of dynamic buckets against the keys and against each other (format section 8.2)."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from paimon_spark.errors import CorruptFile
from paimon_spark.file_io import FileIO
from paimon_spark.format.hash_index import decode_hashes
from paimon_spark.format.manifest import IndexManifestEntry
from paimon_spark.store.checks.report import Findings, Rule

_KEPT_HASHES = 1 << 24  # 64 MB

Hashes = npt.NDArray[np.int32]


class HashFiles:
    """Reads HASH index files and keeps those read last; safe to use from several threads."""

    def __init__(self, file_io: FileIO) -> None:
        self._file_io = file_io
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Hashes] = OrderedDict()

    def find(self, path: str) -> Hashes | None:
        """The hashes of a file, ascending, each once; None if it is missing or damaged, which is reported elsewhere."""
        with self._lock:
            if path in self._kept:
                self._kept.move_to_end(path)
                return self._kept[path]
        try:
            hashes = np.unique(decode_hashes(self._file_io.read_bytes(path), path))
        except (CorruptFile, FileNotFoundError):
            return None
        with self._lock:
            self._kept[path] = hashes
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > _KEPT_HASHES:
                self._kept.popitem(last=False)
        return hashes


def check_hash_file(label: str, path: str, entry: IndexManifestEntry, findings: Findings) -> None:
    """Checks, by the size of the file, that it has as many hashes as the index manifest records."""
    if entry.file_size != 4 * entry.row_count:
        found = f"it is recorded with {entry.row_count} hashes of 4 bytes and {entry.file_size} bytes"
        findings.add(Rule.HASH_INDEX, label, path, found)


def check_growth(label: str, path: str, old: Hashes | None, new: Hashes | None, findings: Findings) -> None:
    """Checks that a HASH index has only grown: a key that is written again must be in the same bucket."""
    if old is None or new is None:
        return
    lost = len(np.setdiff1d(old, new, assume_unique=True))
    if lost:
        findings.add(Rule.HASH_INDEX, label, path, f"it does not know {lost} hashes that the file it replaces knew")


def check_disjoint(label: str, where: str, buckets: Iterable[Hashes | None], findings: Findings) -> None:
    """Checks that no two buckets of a partition have the same hash; holds all hashes of the partition in memory."""
    known = [hashes for hashes in buckets if hashes is not None]
    if len(known) < 2:
        return
    _, counts = np.unique(np.concatenate(known), return_counts=True)
    shared = int((counts > 1).sum())
    if shared:
        findings.add(Rule.HASH_INDEX, label, where, f"{shared} hashes are in the HASH index of more than one bucket")
