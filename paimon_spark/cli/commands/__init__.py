"""The commands of the program, each loaded when it is called.

May import: ``cli``, ``cli.picture`` and what lies below.
Invariant: what destroys shows first what would go, and asks.
"""
