"""Changes of a table's schema: which are allowed, what they make of it, how they are published.

May import: ``store.metadata``, ``store.reporting``, ``merge.engines``, ``arguments``. What a change makes of a
schema is a pure function (``changed_schema``); the module ``alter`` alone reads and publishes schemas.
Invariant: a schema is published whole, under the next id, or not at all, and it is one that the official system takes.
"""
