"""Parquet files as bytes: footers, statistics of row groups and pages, and small files made of some pages of a file.

May import: ``arrow.statistics``. The caller opens the files.
Invariant: bytes that are no parquet metadata are a ValueError; what is not known of a page is None, never a guess.
"""
