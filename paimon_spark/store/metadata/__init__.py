"""The table as its metadata files describe it: ``Table``, schemas, snapshots, manifests, live files.

May import: ``store.storage``, ``merge.keys``, ``format.manifests``, ``format.rules``.
Invariant: ``Table`` is a frozen value. A metadata file is published whole or not at all (``publish``).
"""
