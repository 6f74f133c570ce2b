"""Verifies a whole table: that its files agree with its metadata.

May import: ``store.open``. No writes.
Invariant: a problem is a finding with a rule; only an error of the storage ends a check.
"""
