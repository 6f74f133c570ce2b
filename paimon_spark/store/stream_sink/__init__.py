"""Batches of streams, and other writes that have a name and a number: each is in the table once.

States of a batch N of a writer, as its note beside the table says them::

    no note, or one of a batch before N     certainly never tried: commit it
    N, committing                           cut off: looked for among the snapshots since the note
    N, committed                            in the table: files of another try are deleted, nothing is committed
    a batch after N                         an older checkpoint was put back: refused

Invariants: the note is written before the snapshot, and names a batch as committed only when it is; no file is deleted
while it may belong to a snapshot; what is not known is an error (CommitStateUnknown), never a guess.

May import: ``store.upkeep``.
"""
