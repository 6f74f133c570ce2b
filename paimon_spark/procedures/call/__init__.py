"""What SQL ``CALL`` needs of procedures: a name and values become a procedure, and its result becomes rows.

May import: ``procedures``. No ``sql.text``, no ``catalogs``.
Invariant: names, order and types of arguments, and the columns of results, are those of the official procedures
(features 7). Each official procedure is done, or refused by name.
"""
