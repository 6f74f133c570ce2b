"""Names that are rows of a relational database, for the catalog over files (Java: JdbcCatalog).

A table is renamed row first and files second, as by Java. What a crash leaves between them is no table, or one that
``CALL sys.repair`` registers again.

May import: ``catalogs``.
Libraries: ``sqlalchemy``.
Invariant: no password leaves this process but for the database and for a file that only the user can read.
"""
