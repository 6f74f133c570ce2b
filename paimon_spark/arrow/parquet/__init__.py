"""Parquet files as bytes: footers, statistics of row groups and pages, and small files made of some pages of a file.

May import: errors, ``format``, ``arrow``, ``arrow.statistics``. Files are opened by the caller.
Invariant: bytes that are no parquet metadata are a ValueError; what is not known of a page is None, never a guess.
"""
