"""Which files of a plan, and which of their rows, a read needs: by statistics and by file indexes.

May import: ``store.read``, ``arrow.file_index``. No ``store.commit``.
Invariant: what is left out has no row that the read wants; where rows are merged, keys alone decide.
"""
