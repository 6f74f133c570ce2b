"""Queries of Spark with tables of ours in them: where the tables stand, which columns and rows each of them must give.

May import: ``sql.text``, ``arrow.predicates``.
Libraries: ``sqlglot`` in ``metadata_use``, ``top_n``, ``totals``, ``tree``.
Invariant: SQL is never printed; pieces of the user's text are. A query may get too many columns and rows, never too
few.
"""
