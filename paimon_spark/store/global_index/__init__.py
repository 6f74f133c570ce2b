"""Indexes of a whole table as reads use them: their files, and the ids of rows.

These are the rows that a condition may be true for, or those that a search finds.

May import: ``format.global_index``, ``store.read``. No ``store.commit``.
Libraries: ``pyroaring``.
Invariant: rows that an index leaves out do not satisfy the condition, but those that no index covers where the option
`scalar-index.search-mode` says `fast`; what it leaves is still tested.
"""
