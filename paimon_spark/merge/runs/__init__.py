"""Sorted runs: one made of a batch of rows, many merged into one, two states compared.

May import: ``merge.engines``.
Invariant: memory is bounded by the window, not by the size of the runs.
"""
