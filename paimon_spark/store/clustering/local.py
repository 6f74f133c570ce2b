"""Sorts in this process: rows that do not fit into memory wait in temporary files, one for each source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pyarrow as pa

from paimon_spark.merge.clustering.sort_keys import choose_bounds
from paimon_spark.store.clustering.rows import ranged_rows, sampled_keys, write_group
from paimon_spark.store.clustering.work import Bounds, ClusterWork, GroupResult
from paimon_spark.store.storage.files import discard
from paimon_spark.store.storage.parallel import map_parallel
from paimon_spark.store.storage.spill import SpillFolder, spilling

THREADS = 2  # each holds a range twice: as it was read and sorted


def cluster_here(work: ClusterWork) -> list[GroupResult]:
    """Does the work in threads of this process, all or nothing; on any error the new files are deleted.

    Raises:
        CorruptFile: a file is missing or damaged.
        StorageError: a file could not be read or written, or the disk with the temporary files is full.
    """
    done: list[GroupResult] = []
    try:
        with SpillFolder("paimon-sort-") as folder:
            _run(work, folder, done)
    except BaseException:
        discard(work.table.file_io, [path for result in done for path in result.created])
        raise
    return done


def bounds_of(work: ClusterWork, samples: dict[int, list[pa.RecordBatch]]) -> Bounds:
    """The bounds of the units, by the keys that were drawn of each."""
    drawn = {unit: pa.concat_batches(found) for unit, found in samples.items() if found}
    return Bounds({unit: choose_bounds(keys, work.range_count(unit)) for unit, keys in drawn.items()})


def _run(work: ClusterWork, folder: SpillFolder, done: list[GroupResult]) -> None:
    """Adds the results to `done`, so that it has those of the groups before one that fails."""
    sources = range(len(work.sources))
    cut = [number for number in sources if work.is_cut(work.sources[number].unit)]
    samples: dict[int, list[pa.RecordBatch]] = {}
    for number, keys in zip(cut, map_parallel(lambda n: list(sampled_keys(work, n)), cut, THREADS), strict=True):
        samples.setdefault(work.sources[number].unit, []).extend(keys)
    bounds = bounds_of(work, samples)
    files = {number: folder.new_file() for number in cut}
    spilled = dict(zip(cut, map_parallel(partial(_spill, work, bounds, files), cut, THREADS), strict=True))

    def parts(group: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        mine = [number for number in sources if work.sources[number].unit == work.unit_of(group)]
        for place in work.groups[group]:
            for number in mine:
                if number in spilled:
                    yield from ((place, batch) for batch in spilled[number].batches(place))
                elif work.sources[number].range == place:
                    yield from ranged_rows(work, number, bounds)

    map_parallel(lambda group: done.append(write_group(work, group, parts(group))), range(len(work.groups)), THREADS)


class _Spilled:
    """The rows of a source in a file, by range."""

    def __init__(self, path: Path, parts: Iterator[tuple[int, pa.RecordBatch]]) -> None:
        self._path = path
        self._places: dict[int, list[int]] = {}
        with ExitStack() as closing:
            writer = None
            for number, (place, batch) in enumerate(parts):
                with spilling(path):
                    if writer is None:
                        sink = closing.enter_context(pa.OSFile(str(path), "wb"))
                        writer = pa.ipc.new_file(sink, batch.schema)
                    writer.write_batch(batch)
                self._places.setdefault(place, []).append(number)
            if writer is not None:
                with spilling(path):
                    writer.close()

    def batches(self, place: int) -> Iterator[pa.RecordBatch]:
        """The rows of a range; they share the memory of the file. May be called by several threads."""
        if place in self._places:
            with ExitStack() as closing:
                with spilling(self._path):
                    reader = pa.ipc.open_file(closing.enter_context(pa.memory_map(str(self._path))))
                yield from (reader.get_batch(number) for number in self._places[place])


def _spill(work: ClusterWork, bounds: Bounds, files: Mapping[int, Path], number: int) -> _Spilled:
    return _Spilled(files[number], ranged_rows(work, number, bounds))
