"""Holds and expiry marks: the protocol between operations that keep a snapshot and those that delete snapshots.

A keeper (tag, branch, rollback, read) writes a hold mark, then looks for expiry marks::

    keeper:   write .holding-<id>   ->  look for .expiring-*  ->  write the tag, delete the mark
    expiry:   write .expiring-<end> ->  look for .holding-*   ->  delete files, delete the mark

Invariants (protocol H1 and E1 in docs/internals/protocol.md): a keeper writes its mark before it looks for expiries; an
expiry writes its mark before it looks for keepers. So at least one of the two sees the other and gives up, and no file
of a kept snapshot is deleted.

May import: ``store.metadata``.
"""
