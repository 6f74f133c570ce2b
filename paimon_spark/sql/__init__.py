"""SQL text in, frozen statements out: which tables of ours a text names, and what it asks of them.

May import: errors, ``format``, ``arrow.predicates``. No Spark, no storage, no catalog: whether a table exists, and what
its columns are, is asked by those who run a statement. sqlglot, which finds the tables of a query, is known here and in
``arrow.predicates`` only.
Invariant: SQL is never printed. What runs is the user's own characters, with the names of tables exchanged. A query may
read too many columns and rows, never too few; what is not understood is refused, and what is not ours stays as it is.
"""
