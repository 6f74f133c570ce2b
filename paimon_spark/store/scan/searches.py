"""The searches of a read: for vectors, and for texts. What searches is imported with the first one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from paimon_spark.format.types import DataField
from paimon_spark.store.metadata.table import Table
from paimon_spark.store.scan.read_spec import find_fields

if TYPE_CHECKING:
    from paimon_spark.store.search.searched_rows import SearchedRows

_NO_OPTIONS: Mapping[str, str] = MappingProxyType({})


class Searches(ABC):
    """The part of a read that searches."""

    table: Table

    @property
    @abstractmethod
    def fields(self) -> tuple[DataField, ...]: ...

    @property
    @abstractmethod
    def arrow_schema(self) -> pa.Schema: ...

    @abstractmethod
    def to_batches(self) -> Iterator[pa.RecordBatch]: ...

    @abstractmethod
    def _with_column(self, field: DataField) -> Searches:
        """The same read of one more column, if it has not that."""

    @abstractmethod
    def _searched_rows(self) -> AbstractContextManager[SearchedRows | None]:
        """Gives the rows that indexes of the whole table may be over to a ``with`` block; None: there are none such."""

    @abstractmethod
    def _read_tables(self) -> Iterator[Table]:
        """The table, as each branch that is read has it."""

    def vector_search(self, column: str, vector: Any, count: int, options: Mapping[str, str] = _NO_OPTIONS) -> pa.Table:
        """The rows whose vectors are nearest to one, the nearest first, with their score as last column.

        Where an index over vectors covers rows, it says which of them are about the nearest. The vectors of the others
        are compared themselves; without an index the rows are exactly the nearest ones.

        Args:
            column: of vectors, in any letter case: a VECTOR or an ARRAY, of FLOAT or DOUBLE.
            vector: finite numbers, as many as the vectors of the table have.
            count: how many rows, at least 1.
            options: ``metric``: l2, cosine or inner_product. Without it the index says it; else the table, as
                ``fields.<column>.distance.metric``; else it is l2. An index that was made by another metric is not
                used. ``ivf.nprobe`` or ``diskann.l_search``: how much of the index is looked at.
                ``ivf.refine_factor``: so many times as many rows are taken from the index, and their vectors compared.

        Raises:
            OptionError: an argument does not fit the table, or the index.
            UnsupportedFeature: the column has no vectors; or an index is over it that this release does not read, or
                whose library is not installed, and no metric is given.
            DataError: a vector of the table has another length, or a NULL among its numbers.
        """
        from paimon_spark.store.search.vectors import (
            check_no_index,
            nearest,
            nearest_by_index,
            vector_numbers,
            vector_query,
        )

        wanted = vector_numbers(self.table, vector)
        (field,) = find_fields(self.table.schema, (column,))
        query = vector_query(self.table, self.fields, field, wanted, count, options)
        wide = self._with_column(field)
        with self._searched_rows() as rows:
            if rows is not None:
                return nearest_by_index(rows, wide.fields, self.arrow_schema, query)
        for table in self._read_tables():
            check_no_index(table, field, query)
        return nearest(wide.to_batches(), self.arrow_schema, query, self.table.location)

    def full_text_search(self, column: str, query: str, count: int) -> pa.Table:
        """The rows whose texts fit a query best, the best first, with their score as last column.

        Where a full-text index covers rows, it is asked. Of the texts of the others an index is made in memory first,
        with the options of that index, or else of the table.

        Args:
            column: of texts, in any letter case.
            query: JSON, as the official system has it: ``{"match": {"query": "lake format"}}``.
            count: how many rows, at least 1.

        Raises:
            OptionError: an argument does not fit the table, or the query is not understood.
            UnsupportedFeature: the column has no texts, or the library is not installed.
        """
        from paimon_spark.store.search.texts import best, best_by_index, text_query

        (field,) = find_fields(self.table.schema, (column,))
        asked = text_query(self.table, self.fields, field, query, count)
        wide = self._with_column(field)
        with self._searched_rows() as rows:
            if rows is not None:
                return best_by_index(rows, wide.fields, self.arrow_schema, asked)
        return best(wide.to_batches(), self.arrow_schema, asked, self.table)
