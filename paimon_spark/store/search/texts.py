"""Finds the rows whose texts fit a query best: by full-text indexes, and by ones that are made for the search.

The scores of two indexes are counted in each of them alone, by how rare a word is among its texts. So are those of the
official system, which makes one index in memory of all rows that none covers; here each is over as many rows as a file
of an index is.

Java: DataEvolutionFullTextScan, DataEvolutionFullTextRead, RawFullTextReadImpl (release 2.0).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from paimon_spark.errors import OptionError, UnsupportedFeature
from paimon_spark.format.global_index.native_library import Floats, best_first
from paimon_spark.format.global_index.texts import (
    FULL_TEXT,
    TextFile,
    read_meta,
    text_library,
    text_options,
    write_texts,
)
from paimon_spark.format.options.index_settings import GlobalIndexSettings
from paimon_spark.format.types import STRINGS, DataField
from paimon_spark.store.global_index.search_files import (
    SearchFile,
    covered_rows,
    fitting_rows,
    may_search,
    search_files,
)
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.search.found_rows import check_search, with_scores

if TYPE_CHECKING:
    from paimon_spark.store.search.searched_rows import SearchedRows


@dataclass(frozen=True)
class TextQuery:
    """What is looked for.

    Attributes:
        field: the column of the texts.
        query: JSON, as the library has it.
        count: how many rows at most, at least 1.
    """

    field: DataField
    query: str
    count: int


def text_query(table: Table, shown: Iterable[DataField], field: DataField, query: str, count: int) -> TextQuery:
    """What is looked for, once it is known that a read can find it.

    Args:
        table: the table, with the options of the read.
        shown: the columns of the result.
        field: the column of the texts.
        query, count: as of Scan.full_text_search.

    Raises:
        OptionError: an argument does not fit the table, or the query is not understood.
        UnsupportedFeature: the column has no texts, or the library is not installed.
    """
    begin = f"a full-text search in {table.location}"
    if field.type.root not in STRINGS:
        raise UnsupportedFeature(f"{begin}: the column '{field.name}' is {field.type.root}, and texts are STRING")
    check_search(begin, shown, count)
    text_library(begin)
    with TextFile(_small_index(), begin) as opened:  # whether it is understood, before anything is read
        opened.best(query, 1, None)
    return TextQuery(field, query, count)


@cache
def _small_index() -> bytes:
    return write_texts(["a"], np.zeros(1, np.int64), {}, "a full-text search")


def best_by_index(rows: SearchedRows, fields: tuple[DataField, ...], schema: pa.Schema, query: TextQuery) -> pa.Table:
    """The rows that fit best, as ``best`` has them: by indexes, and of the rows that none covers by a new one.

    Args:
        rows: those that are searched.
        fields: the columns of the result, and that of the texts.
        schema: of the columns of the result.
        query: what is looked for.

    Raises:
        MissingFile, CorruptFile: a file does not exist, or is damaged.
        OptionError: the query is not understood, or an option of the table is bad.
    """
    table = rows.table
    files = search_files(table, rows.indexes, query.field.id, (FULL_TEXT,)).get(FULL_TEXT, [])
    options = _options_of(table, files)
    wanted = rows.ids if files and may_search(table, rows.snapshot.schema_id, query.field.id) else None
    if wanted is None:
        return _joined(schema, [_new(rows.batches(fields, None), schema, query, table, options)], query)
    found = fitting_rows(table, files, query.query, query.count, wanted)
    ids = np.concatenate([np.empty(0, np.int64), *(each.ids for each in found)])
    scores = np.concatenate([np.empty(0), *(each.values for each in found)])
    ids, costs = best_first(ids, -scores)
    ids, scores = ids[: query.count], -costs[: query.count]
    shown = tuple(field for field in fields if field.name in schema.names)
    parts = [(rows.in_order(shown, ids), scores)] if len(ids) else []
    others = _searched(table, files, wanted) - BitMap64().union(*(each.covers for each in found))
    parts.append(_new(rows.batches(fields, others), schema, query, table, options))
    return _joined(schema, parts, query)


def _searched(table: Table, files: list[SearchFile], wanted: BitMap64) -> BitMap64:
    """The rows that are searched: all, or those that an index covers, if an option says so."""
    settings = table.settings.global_index
    if not files or (settings.text_search_mode or settings.search_mode) != "fast":
        return wanted
    return covered_rows(files, wanted)


def _options_of(table: Table, files: list[SearchFile]) -> Mapping[str, str]:
    """The options of an index in memory: those of the last file, so that texts are cut into words alike, else those of
    the table."""
    meta = files[-1].entry.global_index if files else None
    made = None if meta is None else read_meta(meta.index_meta)
    return text_options(table.settings.texts) if made is None else made


def best(batches: Iterable[pa.RecordBatch], schema: pa.Schema, query: TextQuery, table: Table) -> pa.Table:
    """The rows that fit best, the best first, with the column SEARCH_SCORE behind the others; by an index in memory.

    Args:
        batches: of rows with the column of the texts.
        schema: of the columns that are wanted.
        query: what is looked for.
        table: the table, with the options of the read.

    Raises:
        OptionError: an option of the table is bad.
    """
    options = text_options(table.settings.texts)
    return _joined(schema, [_new(batches, schema, query, table, options)], query)


def _new(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, query: TextQuery, table: Table, options: Mapping[str, str]
) -> tuple[pa.Table, Floats]:
    """The rows that fit best, and their scores; each index in memory is over as many rows as a file would be."""
    held: list[tuple[pa.Table, Floats]] = [(schema.empty_table(), np.empty(0))]
    what = f"a full-text search in {table.location}"
    for rows in _pieces(batches, rows_per_file(table)):
        texts = rows.column(query.field.name).to_pylist()
        made = write_texts(texts, np.arange(len(texts)), options, what)
        with TextFile(made, what) as opened:
            numbers, scores = opened.best(query.query, min(query.count, len(texts)), None)
        held = [_first([*held, (rows.select(schema.names).take(pa.array(numbers)), scores)], query.count)]
    return held[0]


def rows_per_file(table: Table) -> int:
    """How many rows a file of an index for searches is over, at most.

    Raises:
        OptionError: it is no number of rows.
    """
    most = table.settings.global_index.rows_per_shard
    if most < 1:
        raise OptionError(f"'{GlobalIndexSettings.rows_per_shard.key}' is {most}; give a number of rows")
    return most


def _pieces(batches: Iterable[pa.RecordBatch], most: int) -> Iterator[pa.Table]:
    """The rows in tables of so many rows; the last one may have fewer."""
    held, count = list[pa.RecordBatch](), 0
    for batch in batches:
        while count + batch.num_rows >= most:
            yield pa.Table.from_batches([*held, batch.slice(0, most - count)])
            batch, held, count = batch.slice(most - count), [], 0
        if batch.num_rows:
            held.append(batch)
            count += batch.num_rows
    if held:
        yield pa.Table.from_batches(held)


def _first(held: list[tuple[pa.Table, Floats]], count: int) -> tuple[pa.Table, Floats]:
    """The best rows of some, sorted; those that come first, of rows of one score."""
    scores = np.concatenate([each for _, each in held])
    order = np.argsort(-scores, kind="stable")[:count]
    return pa.concat_tables([rows for rows, _ in held]).take(pa.array(order)), scores[order]


def _joined(schema: pa.Schema, parts: list[tuple[pa.Table, Floats]], query: TextQuery) -> pa.Table:
    found, scores = _first([(schema.empty_table(), np.empty(0)), *parts], query.count)
    return with_scores(found, pa.array(scores.astype(np.float32)))
