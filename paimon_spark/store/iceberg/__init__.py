"""Iceberg metadata beside the snapshots of a table, for readers of Apache Iceberg (features 3.22).

``after`` has what commits, tags, expiries and rollbacks call; it imports the rest only for tables that have the option.
``publish`` makes the metadata of a snapshot, of those of the snapshot before it (``changed``) or of all its files.

May import: ``store.metadata``, ``format.iceberg``.
Invariant: a snapshot is committed before anything of this is done, and nothing of this is an error of its commit. The
metadata of a snapshot are made of those before only if these are surely of the snapshot before; else of all its files
(protocol C14).
"""
