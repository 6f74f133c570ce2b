"""From a split to its rows: data files, deletion vectors, the merge of sorted runs.

May import: ``store.metadata``, ``store.holds`` and what lies below. It knows nothing of commits.
Invariant: a condition on values is applied after the merge, so that no replaced row comes back.
"""
