"""``listagg`` (Java: FieldListaggAgg): texts joined by a delimiter; nulls and blank texts do not count.

With ``distinct`` a text is split at the delimiter, and only its parts that are new and not blank are added; the first
text of a key is kept unchanged.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paimon_spark.format.types import MAX_LENGTH, DataType, Root
from paimon_spark.merge.aggregates.equality import equality_columns, group_equal
from paimon_spark.merge.aggregates.frame import AggregateSpec, FieldOptions, Fold, Specs, first_where
from paimon_spark.merge.aggregates.parts import fold_in_phases, fold_rest, only_seeds
from paimon_spark.merge.aggregates.spans import list_spans
from paimon_spark.merge.keys.winners import Mask

# What Java's Character.isWhitespace takes for blank: no non-breaking spaces.
_BLANKS = "\t\n\x0b\f\r\x1c\x1d\x1e\x1f \u1680\u2028\u2029\u205f\u3000"
_BLANKS += "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"


def joined_texts(fold: Fold) -> pa.Array:
    """The texts of each key with the delimiter between them."""
    return fold_rest(fold, only_seeds(fold), _joined)


def is_blank(texts: pa.Array) -> Mask:
    """True for texts of white space alone and for empty ones; False for nulls."""
    trimmed = pc.utf8_ltrim(texts, characters=_BLANKS)
    blank: Mask = pc.equal(pc.binary_length(trimmed), 0).fill_null(False).to_numpy(zero_copy_only=False)
    return blank


def _joined(fold: Fold) -> pa.Array:
    distinct = fold.options.distinct
    one_by_one = distinct and _splits_differ(fold.options.delimiter)
    return fold_in_phases(fold, np.full(fold.count, one_by_one), _join_new if distinct else _join_all)


def _splits_differ(delimiter: str) -> bool:
    """True if a text can split into other parts after another text was added to it.

    This happens if an end of the delimiter is also a start of it ("||" in "a|" + "||" + "b"), and for the empty
    delimiter, which splits at spaces but joins without.
    """
    return not delimiter or any(delimiter.endswith(delimiter[:size]) for size in range(1, len(delimiter)))


def _join_all(fold: Fold) -> pa.Array:
    counting = _counting(fold)
    counts = np.add.reduceat(counting, fold.starts, dtype=np.intp)
    texts = fold.take(np.flatnonzero(counting))
    return _or_blank_seed(pc.binary_join(_lists(texts, counts), fold.options.delimiter), counts > 0, fold)


def _join_new(fold: Fold) -> pa.Array:
    """The first text of each key, joined with the parts of its later texts that are new."""
    counting = _counting(fold)
    first = first_where(counting, fold.starts)
    counts = counting
    counts[first[first >= 0]] = False
    keys = fold.keys_of_rows()
    later = np.flatnonzero(counts)
    heads, tails = fold.take(first), fold.take(later)
    head_parts, head_keys = _parts(heads, np.arange(fold.keys), fold)
    tail_parts, tail_keys = _parts(tails, keys[later], fold)
    parts = pa.concat_arrays([head_parts, tail_parts])
    part_keys = np.append(head_keys, tail_keys)
    new = np.zeros(len(parts), np.bool_)
    groups = group_equal([part_keys, *equality_columns(parts, fold.column)], len(parts))
    new[groups.order[groups.starts]] = True
    new[: len(head_parts)] = False
    new &= ~is_blank(parts)
    added = pc.binary_join(
        _lists(parts.filter(pa.array(new)), np.bincount(part_keys[new], minlength=fold.keys)), fold.options.delimiter
    )
    joined = pc.coalesce(pc.binary_join_element_wise(heads, added, fold.options.delimiter), heads)
    return _or_blank_seed(joined, first >= 0, fold)


def _counting(fold: Fold) -> Mask:
    counting = ~is_blank(fold.values)
    return counting if fold.valid is None else counting & fold.valid


def _parts(texts: pa.Array, keys: np.ndarray, fold: Fold) -> tuple[pa.Array, np.ndarray]:
    """The texts split at the delimiter, and of each part the key."""
    lists = pc.split_pattern(texts, fold.options.delimiter or " ")
    spans = list_spans(lists)
    return spans.children[0], keys[spans.parents()]


def _lists(texts: pa.Array, counts: np.ndarray) -> pa.Array:
    """Lists of the given numbers of texts; an empty list is null."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    empty = counts == 0
    mask = pa.array(empty) if empty.any() else None
    return pa.ListArray.from_arrays(pa.array(offsets), texts, mask=mask)


def _or_blank_seed(joined: pa.Array, present: Mask, fold: Fold) -> pa.Array:
    """The joined texts, with blank seeds kept for keys that have no other text."""
    if fold.seeded is None or present.all():
        return joined
    return pc.if_else(pa.array(present), joined, fold.take(np.where(fold.seeded & ~present, fold.starts, -1)))


def _objection(data_type: DataType, options: FieldOptions) -> str | None:
    unbounded = data_type.root is Root.VARCHAR and data_type.length in (None, MAX_LENGTH)
    return None if unbounded else "needs a STRING (a VARCHAR without a length)"


SPECS: Specs = {"listagg": AggregateSpec(joined_texts, _objection, takes_late=True)}
