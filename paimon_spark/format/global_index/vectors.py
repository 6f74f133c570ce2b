"""Files of indexes over vectors, by the library paimon-vindex of the official system (Java: paimon-vector, 2.0).

A file has the vectors of one range of row ids, each under the number of its row in the range; rows without a vector are
not in it. It says itself by which metric it was made. Releases 0.3 to 0.5 of the library have one format.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
from pyroaring import BitMap64

from paimon_spark.errors import DataError, OptionError
from paimon_spark.format.file_index.byte_reader import Bytes
from paimon_spark.format.global_index.native_library import (
    Floats,
    NativeInput,
    best_first,
    filter_bytes,
    loaded_library,
)
from paimon_spark.format.global_index.numbers import Ints, damaged
from paimon_spark.format.options.index_settings import REFINE_KEYS, SAMPLE_KEY, VECTOR_OPTIONS

VECTOR_KINDS = ("ivf-flat", "ivf-pq", "ivf-sq", "ivf-rq", "diskann")
METRICS = ("l2", "cosine", "inner_product")
DEFAULT_METRIC = "inner_product"
PROBES, GRAPH_WIDTH = "ivf.nprobe", "diskann.l_search"
FILE_META = b"{}"
"""`_INDEX_META` of such files: they say all themselves."""
_ADDED_AT_ONCE = 10_000
_FEWER = re.compile(r"native result length mismatch: ids=(\d+),")
"""The error of an IVF-PQ file that has no more in what was looked at."""
_LARGEST_SQUARE, _LEAST_SQUARE = 1e37, 1e-30  # of lengths: FLOAT ends at 3.4e38, and has all its digits from 1.2e-38
Singles: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class VectorBuild:
    """How the files of an index over vectors are made.

    Attributes:
        native: the options of the library, without the length of the vectors where it is not said.
        sample: the part of the vectors that the library is trained with.
    """

    native: Mapping[str, str]
    sample: float

    @property
    def metric(self) -> str:
        """By which metric vectors are compared."""
        return self.native["metric"]


def can_compare(vectors: Floats | Singles, metric: str) -> bool:
    """True if the library, which counts in FLOAT, compares vectors, the rows of a matrix, as they are.

    It ends with an error for an infinite sum, or takes it for a distance. By ``cosine`` a very short vector is 0 to it.
    """
    with np.errstate(all="ignore"):
        squares = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
        is_short = (squares < _LEAST_SQUARE) & vectors.any(axis=1) if metric == "cosine" else np.zeros(1, np.bool_)
    return bool((squares <= _LARGEST_SQUARE).all()) and not is_short.any()


def normal_metric(metric: str) -> str:
    """The metric as METRICS has it."""
    return metric.strip().lower().replace("-", "_")


def vector_build(kind: str, column: str, texts: Mapping[str, str], length: int | None) -> VectorBuild:
    """What options say of an index over vectors. Those of the column go before those of the type of the index.

    Args:
        kind: one of VECTOR_KINDS.
        column: its name.
        texts: of the table, and of the call.
        length: of all vectors, by the type of the column; None: the options say it, or the vectors.

    Raises:
        OptionError: an option of the type is not known, or a value is bad.
    """
    found: dict[str, str] = {}
    for prefix, is_of_kind in ((f"{kind}.", True), (f"fields.{column}.", False)):
        for key, value in texts.items():
            name = key.removeprefix(prefix)
            if key == name:
                continue
            if name in VECTOR_OPTIONS:
                found[VECTOR_OPTIONS[name]] = value.strip()
            elif is_of_kind and key != GRAPH_WIDTH and name not in REFINE_KEYS:
                known = ", ".join(VECTOR_OPTIONS)
                raise OptionError(f"'{key}' is no option; behind '{kind}.' stands one of {known}")
    metric = normal_metric(found.get("metric", DEFAULT_METRIC))
    if metric not in METRICS:
        raise OptionError(f"the metric '{metric}' is not known; give one of {', '.join(METRICS)}")
    sample = _ratio(found.pop(SAMPLE_KEY, "1"))
    if length is not None:
        found["dimension"] = str(length)
    found |= {"index.type": kind.replace("-", "_"), "metric": metric}
    return VectorBuild(found, sample)


def _ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = math.nan
    if not 0 < ratio <= 1:
        raise OptionError(f"'{SAMPLE_KEY}' is '{text}'; give a number above 0 and up to 1")
    return ratio


def vector_library(what: str) -> Any:
    """The library.

    Args:
        what: what needs it; the message begins with it.

    Raises:
        UnsupportedFeature: it is not installed.
    """
    return loaded_library("paimon_vindex", what, "vector")


def write_vectors(vectors: Singles, numbers: Ints, build: VectorBuild, what: str) -> bytes:
    """The bytes of a file.

    Args:
        vectors: one in each row, of finite numbers; at least one.
        numbers: of their rows.
        build: how it is made.
        what: the index, for messages.

    Raises:
        OptionError: the library does not take an option.
        DataError: it does not take the vectors.
        UnsupportedFeature: it is not installed.
    """
    library = vector_library(what)
    options = {"dimension": str(vectors.shape[1]), **build.native}
    if options["dimension"] == "auto":
        options["dimension"] = str(vectors.shape[1])
    if options["index.type"].startswith("ivf_") and options.get("nlist", "auto") == "auto":
        options.setdefault("expected-vector-count", str(len(vectors)))
    count = max(1, math.ceil(len(vectors) * build.sample))
    sample = vectors if count >= len(vectors) else vectors[np.arange(count, dtype=np.int64) * len(vectors) // count]
    try:
        training = library.VectorIndexTrainer.train(options, sample)
    except RuntimeError as error:
        raise OptionError(f"{what}: {error}") from None
    made = io.BytesIO()
    with training:
        try:
            with library.VectorIndexWriter(training) as writer:
                for start in range(0, len(vectors), _ADDED_AT_ONCE):
                    end = start + _ADDED_AT_ONCE
                    writer.add_vectors(numbers[start:end], vectors[start:end])
                writer.write(made)
        except RuntimeError as error:
            raise DataError(f"{what}: {error}") from None
    return made.getvalue()


@dataclass(frozen=True)
class Width:
    """How much of a file a search looks at; None: the library decides.

    Attributes:
        probes: how many clusters, of files of the IVF types.
        graph: how many candidates, of files of the type diskann.
    """

    probes: int | None = None
    graph: int | None = None


class VectorFile:
    """A file, open for searches.

    Attributes:
        metric: one of METRICS, by which it was made.
        length: of its vectors.
        count: how many it has.
    """

    def __init__(self, data: Bytes, where: str) -> None:
        """Reads the head.

        Args:
            data: the file, which may be read from several threads.
            where: its path.

        Raises:
            CorruptFile: it is damaged.
            UnsupportedFeature: the library is not installed.
        """
        self._library = vector_library(f"reading the index file {where}")
        self._input, self._where = NativeInput(data), where
        try:
            self._reader = self._library.VectorIndexReader(self._input)
            meta = self._reader.metadata()
        except (RuntimeError, ValueError) as error:
            raise self._input.raise_for(error, where) from None
        if meta.metric not in METRICS:
            self._reader.close()
            raise damaged(where, f"its metric is {meta.metric}")
        self.metric: str = meta.metric
        self.length: int = meta.dimension
        self.count: int = meta.total_vectors
        self._is_graph = meta.index_type == "diskann"
        self._clusters: int = meta.nlist

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    def nearest(self, vector: Singles, count: int, wanted: BitMap64 | None, width: Width) -> tuple[Ints, Floats]:
        """The numbers of rows whose vectors are near to one, and how far they are; about those that are nearest.

        If the part that is looked at has fewer rows than are asked for, the whole file is searched.

        Args:
            vector: of the length of those in the file.
            count: how many at most, at least 1.
            wanted: the numbers of rows that are searched; None: all.
            width: how much of the file it looks at.

        Raises:
            CorruptFile: the file is damaged.
            OptionError: a width is given that files of this type do not have.
        """
        most = min(count, self.count, *(() if wanted is None else (len(wanted),)))
        if most < 1:
            return np.empty(0, np.int64), np.empty(0)
        params = self._params(most, width)
        found = self._search(vector, params, wanted)
        return found if len(found[0]) >= most else self._search(vector, self._widest(most), wanted)

    def _params(self, count: int, width: Width) -> Any:
        given, other, key = width.probes, width.graph, GRAPH_WIDTH
        if self._is_graph:
            given, other, key = width.graph, width.probes, PROBES
        if other is not None:
            kind = "diskann" if self._is_graph else "ivf"
            raise OptionError(
                f"'{key}' = '{other}' is for indexes of another type than {self._where}, which is of the type {kind}; "
                "leave it out",
                arguments=("options",),
            )
        kinds = self._library.SearchParams
        if given is None:
            return kinds.automatic(count)
        return (kinds.diskann if self._is_graph else kinds.ivf)(count, given)

    def _widest(self, count: int) -> Any:
        kinds = self._library.SearchParams
        return kinds.diskann(count, max(self.count, 1)) if self._is_graph else kinds.ivf(count, max(self._clusters, 1))

    def _search(self, vector: Singles, params: Any, wanted: BitMap64 | None) -> tuple[Ints, Floats]:
        found, apart = self._searched(vector, params, filter_bytes(wanted))
        numbers: Ints = found[found >= 0]
        distances: Floats = apart[found >= 0].astype(np.float64)
        return best_first(numbers, distances)

    def _searched(self, vector: Singles, params: Any, wanted: bytes | None) -> tuple[Ints, Singles]:
        try:
            found: tuple[Ints, Singles] = self._reader.search(vector, params, wanted)
            return found
        except RuntimeError as error:
            fewer = _FEWER.search(str(error))
            if fewer is None or int(fewer[1]) >= params.top_k:
                raise self._input.raise_for(error, self._where) from None
            count = int(fewer[1])
        if count == 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        kinds = self._library.SearchParams
        again = kinds(count, params.search_width, params.width)
        return self._searched(vector, again, wanted)
