"""Makes and drops indexes of a whole table (Java: CreateGlobalIndexProcedure, SortedGlobalIndexBuilder; release 2.0).

May import: ``store.commit``, ``store.scan``.
Invariant: an index is committed only for rows that are there, with the values that the index has.
"""
