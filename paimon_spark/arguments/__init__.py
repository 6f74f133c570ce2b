"""Public calls: arguments held to the types that the calls declare, and errors without the calls below.

May import: ``errors``. No storage.
Invariant: what a call declares is what it checks; nothing is written twice.
"""
