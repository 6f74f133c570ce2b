"""How operations report: a result that prints itself, and the callback that tells progress.

May import: nothing of the store.
"""
