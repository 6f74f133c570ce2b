"""Queries of Spark with tables of ours in them: where the tables stand, which columns and rows each of them must give.

May import: errors, ``format``, ``arrow.predicates``, ``sql.text``. sqlglot is known in ``tree`` alone.
Invariant: SQL is never printed; pieces of the user's text are. A query may get too many columns and rows, never
too few.
"""
