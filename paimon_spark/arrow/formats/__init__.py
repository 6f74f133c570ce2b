"""Data files in parquet, ORC and Avro behind two calls: ``open_reader`` and ``open_writer`` of ``data_file``.

May import: errors, limits, ``format``, ``arrow``, ``arrow.statistics``. Files are opened by the caller.
Invariant: what is written can be read by every Java release since 0.9; damage is a CorruptFile that names the file.
"""
