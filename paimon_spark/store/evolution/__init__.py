"""Changes of a table's schema: which are allowed, what they make of it, how they are published.

May import: ``store.metadata`` and what lies below. What a change does is a pure function (``changed_schema``); storage
is read and written by ``alter_table`` alone.
Invariant: a schema is published whole, under the next id, or not at all, and it is one that the official system takes.
"""
