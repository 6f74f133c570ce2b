"""The on-disk format: schemas, snapshots, rows as bytes, names and places of files (docs/internals/format.md).

May import: errors, limits, ``format.options``, ``format.java``. No I/O, no clock, no Arrow.
Invariant: bytes or text become frozen values and back without loss; input that is not valid is a named error.
"""
