"""Reports of operations: a result that prints itself, and the progress callback.

May import: nothing.
"""
