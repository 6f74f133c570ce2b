"""Texts and times as Java prints and reads them: names of partitions and patterns of times depend on them.

May import: ``errors``. No ``format``.
Invariant: every text is that of the Java class that a docstring names, to the letter.
"""
