"""Rows changed in place: which tables allow it, and what becomes of the files that hold the rows.

Decides by which strategy the rows of a table are deleted and updated (``change_strategies``), rewrites data files with
some rows replaced or left out (``rewrite_file``), or writes some of their columns alone (``column_files``), and writes
deletion vectors (``live_files``). New values that the official system would not read are refused (``vector_columns``).
Which rows change, and to what, is decided elsewhere: this room gets row numbers and new values.

May import: ``store.compact``.
Invariant: rows that are not named keep their values and their order in the file.
"""
