"""The catalog whose names are rows of a relational database, and whose tables are files (Java: JdbcCatalog).

What must happen in which order: a table is created files first and row second, dropped row first and files second,
renamed rows first and files second, as by Java. What a crash leaves between them is no table for anybody, or one that
``CALL sys.repair`` registers again.

May import: ``catalogs``.
Libraries: ``sqlalchemy``.
Invariant: no password leaves this process but for the database and for a file that only the user can read.
"""
