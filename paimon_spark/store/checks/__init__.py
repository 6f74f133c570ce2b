"""Verifies a whole table: that what its metadata say is true of its files.

May import: all rooms of the store but ``store.upkeep``. It writes nothing.
Invariant: a problem is a finding with a rule; only a storage that does not answer ends a check.
"""
