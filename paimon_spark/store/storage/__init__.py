"""Jobs on stored files that know nothing of tables: listing by prefix, deletion, threads, retries, local time.

May import: ``file_io``, ``arrow``.
Libraries: ``tenacity`` in ``retrying``.
Invariant: a deletion that fails is logged and never hides the error that led to it.
"""
