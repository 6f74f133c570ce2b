"""The table as its metadata files describe it: ``Table``, schemas, snapshots, manifests, live files.

May import: ``store.storage``, ``merge.keys`` and what lies below.
Invariant: ``Table`` is a frozen value. A metadata file is published whole or not at all (``publish``).
"""
