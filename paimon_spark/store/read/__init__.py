"""Reads the rows of splits: data files, deletion vectors, the merge of sorted runs.

May import: ``store.metadata``, ``store.holds`` and what lies below. It does not depend on commits.
Invariant: a condition on values is applied after the merge, so that no replaced row comes back.
"""
