"""Reads the rows of splits: data files, deletion vectors, the merge of sorted runs.

May import: ``store.holds``, ``merge.compaction``, ``arrow.formats``, ``arrow.predicates``.
No ``store.commit``.
Libraries: ``pandas``, ``polars`` in ``arrow_rows``.
Invariant: a condition on values is applied after the merge, so that no replaced row comes back.
"""
