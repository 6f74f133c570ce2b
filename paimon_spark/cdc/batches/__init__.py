"""Batches of messages as batches of rows: typed columns, row kinds, the order of changes, columns made of others.

May import: ``cdc.formats``, ``store.evolution``.
Invariant: each message of a batch is in the result as its rows, or as a dead letter, or it is of a kind that is ignored
by name; else the batch fails and the error names the message.
"""
