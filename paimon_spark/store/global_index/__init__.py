"""Indexes of a whole table as reads use them: their files.

May import: ``format.global_index``, ``store.read``. No ``store.commit``.
Libraries: ``pyroaring``.
Invariant: rows that an index leaves out do not satisfy the condition; what it leaves is still tested.
"""
