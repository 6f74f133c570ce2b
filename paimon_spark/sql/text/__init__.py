"""The words of a statement: tokens and their places, literals, names of tables, partitions.

May import: ``format``. No Arrow.
Invariant: tokens are those of Spark 4, and hold every character of a text but spaces and comments.
"""
