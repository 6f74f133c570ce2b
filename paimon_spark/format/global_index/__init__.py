"""Files of indexes of a whole table: bytes <-> keys and row numbers (format section 8.3; Java: globalindex, sst; 2.0).

A file has the rows of one range of row ids, each by its number in the range. Its entry in the index manifest has the
range, and the first and last key. Kinds are ``btree`` and ``bitmap``; both are kept in the order of keys. Readers fetch
only the blocks that a condition needs. The files of indexes for searches are those of two libraries of the official
system. They are loaded with the first such file, and need not be installed.

May import: ``format.file_index``.
Libraries: ``cramjam``, ``zstandard`` in ``blocks``; ``pyroaring``.
Invariant: what a file is asked for, it has: rows may be too many where floats or times are cut off, never too few.
"""
