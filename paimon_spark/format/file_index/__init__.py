"""Indexes of single data files: bytes <-> values (format section 9).

The indexes of a data file are stored in one container (``container``), in the manifest or next to the data file. An
index may only exclude rows and files: whatever it does not exclude is still checked. ``arrow.file_index`` evaluates
conditions on indexes, and makes indexes of columns. Readers decode only what a condition asks for.

May import: ``format``.
Libraries: ``pyroaring`` in ``byte_reader``, ``row_sets``; ``xxhash`` in ``bloom``.
"""
