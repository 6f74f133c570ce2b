"""Indexes of single data files: bytes <-> values (format section 9).

They live in a container (``container``), in the manifest or beside the data file. Indexes only skip: a row or file that
one leaves in is always looked at again. The product reads the container only, for the system table ``$file_indexes``;
the codecs of the index types are early work for reads that use them.

May import: errors, ``format``.
"""
