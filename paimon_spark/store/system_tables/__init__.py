"""System tables: the metadata of a table, and its rows in other forms (features 1.6; Java: package table.system).

May import: ``store.scan``, ``store.commit``.
Invariant: columns and values are those of the official system, except times that are shown as instants on request.
"""
