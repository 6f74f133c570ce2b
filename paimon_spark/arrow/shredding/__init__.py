"""Parts of VARIANT values in columns of their own: which they are, how they are written, and what a path reads of them.

May import: ``arrow.statistics``.
Invariants: no value is lost, whatever the shape; what a path gives is what it gives of the whole value.
"""
