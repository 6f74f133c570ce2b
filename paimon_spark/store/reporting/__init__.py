"""Reports of operations: a result that prints itself, the duration of a call, and the progress callback.

May import: nothing.
"""
