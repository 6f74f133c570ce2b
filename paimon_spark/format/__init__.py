"""The on-disk format: schemas, snapshots, rows as bytes, names and places of files (docs/internals/format.md).

May import: ``format.java``, ``format.options``, ``limits``. No storage, no clock, no Arrow.
Libraries: ``pyroaring`` in ``art_bitmap``, ``deletion_vector``.
Invariant: bytes or text become frozen values and back without loss; input that is not valid is a named error.

A name after "Java:" is a class or method of the official system, as the sources of its 2.1 snapshot have it
(docs/internals/format.md), unless another release is given.
"""
