"""File indexes and Arrow: which rows of a data file may satisfy a condition, and indexes of columns of batches.

May import: ``arrow.predicates``, ``format.global_index``.
Invariant: the rows that an index leaves out cannot satisfy the condition; what it leaves is still tested.
"""
