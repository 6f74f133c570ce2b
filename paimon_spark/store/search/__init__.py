"""Searches: the rows whose vectors are nearest to one, and those whose texts fit a query best, with their scores.

Java: AbstractDataEvolutionVectorRead, DataEvolutionFullTextRead (release 2.0).

May import: ``store.pruning``.
Libraries: ``pyroaring``.
Invariant: a search finds rows of the state that is read alone, as they are there: deleted rows, and those for which the
condition is not true, are not found. Rows that no index covers are looked at one by one, unless an option says `fast`.
"""
