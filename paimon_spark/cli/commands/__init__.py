"""The commands of the program, each loaded when it is called.

May import: ``cli``, ``catalogs``, ``store.checks``, ``store.stream_source``, ``store.evolution``.
Invariant: what destroys shows first what would go, and asks.
"""
