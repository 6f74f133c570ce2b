"""Tags, branches and consumers, rollback and fast-forward.

May import: ``store.expire``, ``store.scan``.
Invariant: a name keeps its snapshot readable from the moment a call returns until the name is deleted.
"""
