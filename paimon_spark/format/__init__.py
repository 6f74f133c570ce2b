"""The on-disk format: schemas, snapshots, rows as bytes, names and places of files (docs/internals/format.md).

May import: errors, limits, ``format.options``, ``format.java``. No I/O, no clock, no Arrow.
Invariant: bytes or text become frozen values and back without loss; input that is not valid is a named error.

A name after "Java:" is a class or method of the official system, as the sources of its 2.1 snapshot have it
(docs/internals/format.md), unless another release is given.
"""
