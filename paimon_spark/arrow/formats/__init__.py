"""Data files in parquet, ORC and Avro behind two calls: ``open_reader`` and ``open_writer`` of ``data_file``.

May import: ``arrow.parquet``, ``arrow.shredding``, ``format.avro``. The caller opens the files.
Libraries: ``fastavro`` in ``avro_columns``, ``avro_data``.
Invariant: what is written can be read by every Java release since 0.9; damage is a CorruptFile that names the file.
"""
